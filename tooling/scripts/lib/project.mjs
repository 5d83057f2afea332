import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** `pnpm@<version>` as package.json pins it. */
export const pnpm = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager

/** Everything runs in this environment: the tools and the Node of this project first, no messages home. */
export const environment = {
  ...process.env,
  PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  DO_NOT_TRACK: '1',
  // `npm start` and `npm test` speak in their own words; the npm that called them keeps its settings to itself.
  npm_config_loglevel: 'error',
}

/** The Node that the project pins, which is newer than the one these scripts can run on. */
export const node = join(root, 'node_modules', '.bin', 'node')

/** A tool out of node_modules. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', name)
}

/** Command and arguments that run the pinned pnpm, which need not be installed: npx fetches it once and keeps it. */
export function pnpmCommand(...args) {
  return ['npx', '--yes', pnpm, ...args]
}
