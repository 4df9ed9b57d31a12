import { describe, expect, it } from "vitest";
import { literalAddress, mayConnect } from "../../shared/webhooks/public-address.ts";

const strict = { loopback: false };

const refused = [
  ...["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1"],
  ...["127.255.255.255", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.0", "172.31.255.255"],
  ...["192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.0"],
  ...["198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1"],
  ...["255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a9fe:a9fe"],
  ...["::ffff:10.0.0.1", "::FFFF:192.168.1.1", "::127.0.0.1", "::7f00:1", "::ffff:0:127.0.0.1", "fe80::1"],
  ...["febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "2001:0:1:2::3"],
  ...["2001:10::1", "2001:20::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::", "3fff::1", "100::1"],
  ...["64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::a00:1", "5f00::1", "4000::1", "1fff::1"],
];

const let_through = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
  ...["128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.1.1"],
  ...["192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "::ffff:808:808"],
  ...["2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1", "2a00:1450::1", "3ffe::1"],
];

describe("an address", () => {
  it.each(refused)("%s is refused", (address) => {
    expect(mayConnect(address, strict)).toBe(false);
  });

  it.each(let_through)("%s is let through", (address) => {
    expect(mayConnect(address, strict)).toBe(true);
  });

  it.each([
    "",
    "localhost",
    "example.com",
    "8.8.8",
    "8.8.8.8.8",
    "08.8.8.8",
    "0x8.8.8.8",
    "134744072",
    "8.8.8.8:443",
    "8.8.8.8/32",
    " 8.8.8.8",
    "[2606:4700:4700::1111]",
    "2606:4700:4700::1111%eth0",
    "fe80::1%lo",
    "::ffff:8.8.8.8%1",
  ])("that is written %j is refused, because it is none", (address) => {
    expect(mayConnect(address, strict)).toBe(false);
  });

  it("of this machine is let through by a local runner alone, and none of its network beside it", () => {
    for (const own of ["127.0.0.1", "127.8.8.8", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"]) {
      expect(mayConnect(own, { loopback: true })).toBe(true);
    }
    for (const other of refused.filter((address) => !/127\.|7f00|^::1$/.test(address))) {
      expect(mayConnect(other, { loopback: true })).toBe(false);
    }
    for (const hidden of ["2002:7f00:1::", "64:ff9b::7f00:1", "::127.0.0.1"]) {
      expect(mayConnect(hidden, { loopback: true })).toBe(false);
    }
  });
});

/** Spellings that URL parsers know for 127.0.0.1, ::1 and 169.254.169.254. */
const spellings = [
  ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "017700000001"],
  ...["0177.0.0.1", "0177.0.0x0.01", "127.0.0.1.", "%31%32%37.0.0.1", "①②⑦.0.0.1", "１２７.0.0.1", "127。0。0。1"],
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[::127.0.0.1]"],
  ...["0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]"],
  ...["[2002:a9fe:a9fe::]", "0", "0x0", "0.0.0.0", "[::]"],
];

describe("a host name that is an address", () => {
  it.each(spellings)("%s is known for one and refused", (host) => {
    const literal = literalAddress(new URL(`https://${host}/`).hostname);
    expect(literal).toBeDefined();
    expect(mayConnect(literal ?? "", strict)).toBe(false);
  });

  it("is distinguished from a name", () => {
    for (const name of ["example.com", "localhost", "127.0.0.1.example.com", "a.b", "xn--bcher-kva.example"]) {
      expect(literalAddress(new URL(`https://${name}/`).hostname)).toBeUndefined();
    }
  });

  it.each(["[fe80::1%25lo]", "[::1%lo]", "127.0.0.1%00", "1.2.3.4.5", "256.0.0.1", "0x100000000"])(
    "cannot be written %s",
    (host) => {
      expect(() => new URL(`https://${host}/`)).toThrow();
    },
  );
});
