/** Takes the place of the signer's writer of event headers: only operations that stream events sign such. */
export class HeaderFormatter {
  format(): never {
    throw new Error("Event streams are not in this bundle.");
  }
}
