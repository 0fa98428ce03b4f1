#!/bin/sh
# Writes schema.json: what Grafana publishes about dashboards (the types in npm's @grafana/schema, Apache-2.0, (c)
# Grafana Labs), as JSON schemas: of a dashboard, and of the options of the kinds of panel that are used here.
#   docker/grafana/schema/make.sh        wants npm; VERSION is that of the Grafana image
set -eu
VERSION=${VERSION:-12.1.1}
GENERATOR=2.3.0
folder=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
npm install --silent --no-audit --no-fund "@grafana/schema@$VERSION" "ts-json-schema-generator@$GENERATOR" >/dev/null
schema() { # schema NAME FOLDER TYPE: the layout below dist differs from release to release
  path=$(find node_modules/@grafana/schema/dist -path "*/raw/$2/x/*.gen.d.ts" | head -n 1)
  npx --no-install ts-json-schema-generator --no-type-check --path "$path" --type "$3" --out "$1.json"
}
schema dashboard dashboard Dashboard
schema timeseries.options composable/timeseries/panelcfg Options
schema timeseries.fields composable/timeseries/panelcfg FieldConfig
schema stat.options composable/stat/panelcfg Options
node - "$VERSION" >"$folder/schema.json" <<'END'
const fs = require('fs');
const bare = (value) => {  // without the prose: it is not checked, and it is not ours
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  const prose = (key) => ['description', 'deprecated'].includes(key) && typeof value[key] !== 'object';
  return Object.fromEntries(Object.keys(value).filter((key) => !prose(key)).map((key) => [key, bare(value[key])]));
};
const names = ['dashboard', 'timeseries.options', 'timeseries.fields', 'stat.options'];
const schemas = Object.fromEntries(names.map((name) => [name, bare(JSON.parse(fs.readFileSync(`${name}.json`)))]));
const origin = `made by make.sh from @grafana/schema ${process.argv[2]} (Apache-2.0, (c) Grafana Labs)`;
console.log(JSON.stringify({ $comment: origin, ...schemas }, null, 1));
END
