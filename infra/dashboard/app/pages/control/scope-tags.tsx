/** Scopes as the API names them. */
export function ScopeTags({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <span className="tags">
      {scopes.map((scope) => (
        <span key={scope} className="tag">
          {scope}
        </span>
      ))}
    </span>
  );
}
