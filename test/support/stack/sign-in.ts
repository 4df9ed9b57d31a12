import { totpCode } from "../../../infra/local/pool/totp.ts";

/** Credentials that a person types into the login page. */
export interface SignInUser {
  readonly email: string;
  readonly password: string;
  readonly totp_secret: string;
}

/** A browser without scripts: it keeps cookies by path, follows redirects on its host, and posts forms. */
export class Browser {
  private readonly cookies = new Map<string, { readonly value: string; readonly path: string }>();

  /** Follows redirects until another host is named or a page comes; returns that address, and the page. */
  async open(address: string, form?: Readonly<Record<string, string>>): Promise<{ url: string; html: string }> {
    const first = new URL(address);
    let [url, body] = [first, form === undefined ? undefined : new URLSearchParams(form)];
    for (;;) {
      const reply = await fetch(url, {
        redirect: "manual",
        headers: { Cookie: this.cookiesOf(url) },
        ...(body !== undefined && { method: "POST", body }),
      });
      this.keep(reply);
      const location = reply.headers.get("location");
      if (location === null) return { url: url.href, html: await reply.text() };
      await reply.body?.cancel();
      url = new URL(location, url);
      body = undefined;
      if (url.origin !== first.origin) return { url: url.href, html: "" };
    }
  }

  private cookiesOf({ pathname }: URL): string {
    const sent = [...this.cookies].filter(([, { path }]) => pathname.startsWith(path));
    return sent.map(([name, { value }]) => `${name}=${value}`).join("; ");
  }

  private keep(reply: Response): void {
    for (const line of reply.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /; path=([^;]+)/i.exec(line)?.[1] ?? "/";
      if (value === "" || line.includes("expires=Thu, 01 Jan 1970")) this.cookies.delete(name);
      else this.cookies.set(name, { value, path });
    }
  }
}

/** Opens the address of an authorization request and types what the login page asks for; returns where it ends. */
export async function signIn(browser: Browser, address: string, user: SignInUser): Promise<string> {
  const asked = await browser.open(address);
  const second = await browser.open(asked.url, { email: user.email, password: user.password });
  const { url } = await browser.open(second.url, { code: totpCode(user.totp_secret, Date.now()) });
  return url;
}

/** An invited person: the mail holds a temporary password, and the person chooses their own. */
export interface InvitedUser {
  readonly email: string;
  readonly temporary_password: string;
  readonly password: string;
}

/** The first sign-in of an invited person, who sets up the second factor; returns where it ends, and the user. */
export async function signInFirst(browser: Browser, address: string, invited: InvitedUser) {
  const { email, temporary_password, password } = invited;
  const { url: page } = await browser.open(address);
  await browser.open(page, { email, password: temporary_password });
  const { html } = await browser.open(page, { new_password: password });
  const [, totp_secret] = /<code>([A-Z2-7]+)<\/code>/.exec(html) ?? [];
  if (totp_secret === undefined) throw new Error(`The page shows no key for an authenticator app: ${html}`);
  const { url } = await browser.open(page, { code: totpCode(totp_secret, Date.now()) });
  const user: SignInUser = { email, password, totp_secret };
  return { url, user };
}
