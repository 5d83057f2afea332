import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** `pnpm@<version>` as package.json pins it. */
export const pnpm = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager

/** Environment of all commands: the tools and the Node of this project come first on PATH, and telemetry is off. */
export const environment = {
  ...process.env,
  PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  DO_NOT_TRACK: '1',
  // Hides settings of the calling npm; `npm start` and `npm test` print their own messages.
  npm_config_loglevel: 'error',
}

/** The Node that the project pins. These scripts also run on older ones. */
export const node = join(root, 'node_modules', '.bin', 'node')

/** Path of a tool in node_modules. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', name)
}

/** Returns a command that runs the pinned pnpm. It need not be installed: npx fetches it once and caches it. */
export function pnpmCommand(...args) {
  return ['npx', '--yes', pnpm, ...args]
}
