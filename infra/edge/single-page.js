/**
 * CloudFront Function (JavaScript runtime 2.0) of the dashboard's distribution, before its bucket is asked. Every
 * address of the application is answered by its one page. A file is what lies in `assets/`, or at the root with an
 * extension; identifiers deeper in a path may hold dots, as symbols do.
 */
// biome-ignore lint/correctness/noUnusedVariables: CloudFront calls it.
function handler(event) {
  var request = event.request;
  var isFile = /^\/(?:assets\/.+|[^/]+\.[a-z0-9]+)$/.test(request.uri);
  if (!isFile) request.uri = "/index.html";
  return request;
}
