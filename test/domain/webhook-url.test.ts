import { describe, expect, it } from "vitest";
import { urlFault } from "../../shared/domain/webhooks/url.ts";

describe("the address of an endpoint is refused", () => {
  it.each([
    ["in clear", "http://hooks.example.com/", "must begin with https://"],
    ["of another scheme", "ftp://hooks.example.com/", "must begin with https://"],
    ["that runs code", "javascript:alert(1)", "must begin with https://"],
    ["without a scheme", "hooks.example.com/x", "must be an absolute https URL"],
    ["without a host", "https://", "must be an absolute https URL"],
    ["with one slash", "https:/hooks.example.com/", "must name its host after two slashes"],
    ["with three slashes", "https:///hooks.example.com/", "must name its host after two slashes"],
    ["with a user", "https://user@hooks.example.com/", "must not hold a user name or password"],
    ["with a password", "https://user:secret@hooks.example.com/", "must not hold a user name or password"],
    ["with an empty user", "https://@hooks.example.com/", "must not hold a user name or password"],
    ["with a fragment", "https://hooks.example.com/#part", "must not hold a fragment"],
    ["with an empty fragment", "https://hooks.example.com/#", "must not hold a fragment"],
    ["with a space", "https://hooks.example.com/a b", "must be ASCII without spaces and backslashes"],
    ["with a space before it", " https://hooks.example.com/", "must be ASCII without spaces and backslashes"],
    ["with a line break", "https://hooks.example.com/\nx", "must be ASCII without spaces and backslashes"],
    ["with a backslash", "https:\\\\hooks.example.com\\", "must be ASCII without spaces and backslashes"],
    ["with letters beyond ASCII", "https://hööks.example.com/", "must be ASCII without spaces and backslashes"],
    ["with full-width digits", "https://１２７.0.0.1/", "must be ASCII without spaces and backslashes"],
    ["with port 80", "https://hooks.example.com:80/", "must use port 443 or one from 1024 on"],
    ["with port 22", "https://hooks.example.com:22/", "must use port 443 or one from 1024 on"],
    ["with port 0", "https://hooks.example.com:0/", "must use port 443 or one from 1024 on"],
    ["with port 1023", "https://hooks.example.com:1023/", "must use port 443 or one from 1024 on"],
    ["with a port that is none", "https://hooks.example.com:65536/", "must be an absolute https URL"],
    ["of one label", "https://intranet/", "must name a public host"],
    ["of this machine by name", "https://localhost/", "must name a public host"],
    ["of this machine by a name below", "https://a.localhost/", "must name a public host"],
    ["of 2,049 characters", `https://hooks.example.com/${"x".repeat(2023)}`, "must have at most 2048 characters"],
  ])("%s", (_, url, fault) => {
    expect(urlFault(url, false)).toBe(fault);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "169.254.169.254",
    "10.0.0.8",
    "8.8.8.8",
    "0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[2001:4860:4860::8888]",
  ])("that is an address literal, in any spelling: %s", (host) => {
    expect(urlFault(`https://${host}/`, false)).toBe("must name a host, not an IP address");
  });

  it.each(["256.1.1.1", "1.2.3.4.5", "0x100000000", "[::1%eth0]", "[::1"])("that is a broken literal: %s", (host) => {
    expect(urlFault(`https://${host}/`, false)).toBeDefined();
  });
});

describe("the address of an endpoint is taken", () => {
  it.each([
    "https://hooks.example.com",
    "https://hooks.example.com/",
    "https://hooks.example.com:443/a?b=c",
    "https://hooks.example.com:1024/",
    "https://hooks.example.com:65535/",
    "https://xn--hks-snaa.example.com/a/b%20c?user=a@b.example",
    "HTTPS://HOOKS.EXAMPLE.COM/",
    `https://hooks.example.com/${"x".repeat(2022)}`,
  ])("%s", (url) => {
    expect(urlFault(url, false)).toBeUndefined();
  });

  it.each(["http://127.0.0.1:3100/", "http://localhost:80/x", "https://[::1]:9/", "http://a.localhost:3100/"])(
    "where the runner on one machine sends to itself: %s",
    (url) => {
      expect(urlFault(url, true)).toBeUndefined();
      expect(urlFault(url, false)).toBeDefined();
    },
  );

  it.each([
    "http://hooks.example.com/",
    "http://10.0.0.1/",
    "https://10.0.0.1/",
    "http://0.0.0.0:3000/",
    "http://a@localhost/",
  ])("but there too not: %s", (url) => {
    expect(urlFault(url, true)).toBeDefined();
  });
});
