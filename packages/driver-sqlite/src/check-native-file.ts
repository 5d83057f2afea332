import { LooseleafError } from '@looseleaf/core'
import { checkNode } from '@looseleaf/core/internal'
import Database from 'better-sqlite3'

let isLoaded = false

/**
 * Loads the native file of better-sqlite3, once per process. Throws `BAD_OPTION` on a version of Node that it would crash, and
 * `SHARD_UNAVAILABLE`, with the remedy, if the file is missing, was built for another platform, or may not be loaded.
 */
export function checkNativeFile(): void {
  if (isLoaded) return
  checkNode()
  try {
    new Database(':memory:').close()
  } catch (cause) {
    throw new LooseleafError('SHARD_UNAVAILABLE', `SQLite cannot be loaded: ${reasonOf(cause)}`, {
      cause,
      retryable: false,
    })
  }
  isLoaded = true
}

function reasonOf(error: unknown): string {
  const platform = `${process.platform}-${process.arch}`
  switch ((error as { readonly code?: unknown }).code) {
    case 'ERR_DLOPEN_DISABLED':
      return 'Node does not allow the native file of better-sqlite3. Start it with --allow-addons beside --permission, or without --no-addons.'
    case 'ERR_DLOPEN_FAILED':
      return `the native file of better-sqlite3 was not built for this platform (${platform}, Node ${process.versions.node}), or is damaged. Install the dependencies on the platform that runs them, or run \`npm rebuild better-sqlite3\` there.`
    case 'ERR_ACCESS_DENIED':
      return 'Node does not allow reading the native file of better-sqlite3. Start it with --allow-fs-read for node_modules beside --permission.'
    default:
      return (
        `the native file of better-sqlite3 for ${platform} is missing. In a bundle, mark better-sqlite3 as external and install it beside the bundle. ` +
        'In a copy of node_modules, as of a Docker image, keep its folder prebuilds. For a platform that has none there, run `npm rebuild better-sqlite3`.'
      )
  }
}
