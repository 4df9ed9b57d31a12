import { describe, expect, it } from "vitest";
import { addressBlock, addressInRanges } from "../../shared/runtime/address.ts";

describe("an address", () => {
  it.each([
    ["203.0.113.9", ["203.0.113.0/24"], true],
    ["203.0.114.9", ["203.0.113.0/24"], false],
    ["203.0.113.9", ["203.0.113.9"], true],
    ["203.0.113.10", ["203.0.113.9"], false],
    ["203.0.113.9", ["198.51.100.0/24", "203.0.113.9/32"], true],
    ["2001:db8::1", ["2001:db8::/32"], true],
    ["2001:db9::1", ["2001:db8::/32"], false],
    ["::ffff:203.0.113.9", ["203.0.113.0/24"], true],
    ["2001:db8::1", ["0.0.0.0/0"], false],
    ["203.0.113.9", ["0.0.0.0/0"], true],
    ["203.0.113.9", [], false],
    ["", ["0.0.0.0/0"], false],
    ["nonsense", ["0.0.0.0/0"], false],
  ] as const)("%s is in %o: %s", (address, ranges, inside) => {
    expect(addressInRanges(address, ranges)).toBe(inside);
  });

  it.each(["0.0.0.0/", "0.0.0.0/ ", "0.0.0.0/33", "0.0.0.0/-1", "0.0.0.0/0/0", "0.0.0.0/x", "::/129", "all", ""])(
    "is in no range that is none: %j",
    (range) => {
      expect(addressInRanges("203.0.113.9", [range])).toBe(false);
      expect(addressInRanges("203.0.113.9", [range, "203.0.113.9"])).toBe(true);
    },
  );
});

describe("what counts as one place", () => {
  it.each([
    ["203.0.113.9", "203.0.113.9"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["2001:db8:1:2::203.0.113.9", "2001:db8:1:2::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["nonsense", "nonsense"],
  ])("%s is %s", (address, block) => {
    expect(addressBlock(address)).toBe(block);
  });
});
