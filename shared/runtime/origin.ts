/** Header that the dashboard's distribution adds to each request to the API, in the place of a browser's own. */
export const originHeader = "X-Origin-Verify";

/** Stage variable of the API with the value of that header; API Gateway sends it to the functions with each request. */
export const originVariable = "origin_secret";
