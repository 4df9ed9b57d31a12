import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { OpenApi } from "./document.ts";

const installed = createRequire(import.meta.url);

/** Options of Redoc, as documented with the package. */
const options = {
  expandResponses: "200,201,202",
  requiredPropsFirst: true,
  jsonSampleExpandLevel: 3,
  hideSchemaTitles: true,
  nativeScrollbars: true,
  scrollYOffset: 0,
  downloadFileName: "openapi.json",
  showExtensions: ["x-extensible-enum"],
  theme: {
    spacing: { sectionVertical: 28 },
    colors: {
      primary: { main: "#1f5fbf" },
      text: { primary: "#1c2430", secondary: "#5b6675" },
      border: { dark: "rgba(20, 40, 80, 0.15)", light: "rgba(20, 40, 80, 0.08)" },
      http: { get: "#1a7f4b", post: "#1f5fbf", patch: "#a15c00", delete: "#b3261e" },
    },
    typography: {
      fontSize: "15px",
      lineHeight: "1.6",
      fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
      headings: { fontFamily: "inherit", fontWeight: "650" },
      code: {
        fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
        fontSize: "13px",
        color: "#1c2430",
        wrap: true,
      },
    },
    sidebar: { backgroundColor: "#f5f7fa", width: "280px" },
    rightPanel: { backgroundColor: "#1b2433", width: "38%" },
  },
};

/** The only resource that Redoc would fetch; it omits the picture if it cannot be loaded. */
const remotePicture = '"https://cdn.redoc.ly/redoc/logo-mini.svg"';

/** The browser loads no external resources: requests of a later Redoc version to any host are blocked. */
const policy = [
  "default-src 'none'",
  "script-src 'unsafe-inline' blob:",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/**
 * The API reference as a self-contained HTML page: the document, Redoc and its licences. It loads no external
 * resources, so it works from a disk and sends no data.
 */
export function referencePage(document: OpenApi): string {
  const data = JSON.stringify(document).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${document.info["title"]}: reference</title>
<style>body { margin: 0 }</style>
</head>
<body>
<main id="reference"></main>
<noscript>This page needs JavaScript. The same is in openapi.json.</noscript>
<script>
${redoc()}
</script>
<script>
Redoc.init(${data}, ${JSON.stringify(options)}, document.getElementById("reference"));
</script>
</body>
</html>
`;
}

/** Redoc's bundle with its licences first and without its remote picture, escaped for a script element. */
function redoc(): string {
  const file = installed.resolve("redoc/bundles/redoc.standalone.js");
  const code = readFileSync(file, "utf8");
  if (code.split(remotePicture).length !== 2) throw new Error("Redoc has changed: its remote picture is not found.");
  const licence = readFileSync(installed.resolve("redoc/LICENSE"), "utf8");
  const others = readFileSync(`${file}.LICENSE.txt`, "utf8");
  const local = code.replace(remotePicture, '"data:,"').replaceAll(/\/\/# sourceMappingURL=[\w.-]+/g, "");
  return `/*! Redoc\n${licence}*/\n${others}\n${local}`
    .replaceAll("</script", "<\\/script")
    .replaceAll("<!--", "<\\!--");
}
