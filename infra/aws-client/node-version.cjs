/**
 * Takes the place of `semver` in jsonwebtoken, which asks it three questions about the running Node: whether it is at
 * least 8.0, 15.7 and 16.9. The functions run on Node 22 or later: 29 KB.
 */
module.exports = { satisfies: () => true };
