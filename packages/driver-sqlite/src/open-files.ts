import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { LooseleafError, platformTime } from '@looseleaf/core'

/** Milliseconds within which a database that is only read notices that its files are gone. */
const LOOK_MS = 1_000

/** Knows which files a database has open, by device and inode, and notices when other files or none have their names. */
export interface OpenFiles {
  /**
   * Throws `SHARD_UNAVAILABLE` when the files are gone: SQLite goes on with files that have no name any more, and whatever it
   * commits to them is lost. Looks before every write, and before a read at most once a second, unless they were gone before.
   */
  check(writes: boolean): void
  /** Tells, by a look, whether other files or none have the names of those that are open. */
  areGone(): boolean
  /** Tells, by a look, whether the database file itself has its name still, whatever has become of its log. */
  isFileThere(): boolean
  /** Tells whether a call was ever refused because the files were gone. */
  hasRefused(): boolean
}

/** For a database in memory. */
export const noFiles: OpenFiles = {
  check() {},
  areGone: () => false,
  isFileThere: () => true,
  hasRefused: () => false,
}

/** Device and inode of a file; undefined if there is no file of this name. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** Takes the files that have these names now for those that the database has open. */
export function watchFiles(file: string): OpenFiles {
  const opened = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, identity: identityOf(path) }))
  let areGone = false
  let hasRefused = false
  let lookedAt = platformTime.elapsed()

  // The third one, -shm, counts too: processes with different ones do not see each other, and overwrite each other's log.
  function look(): void {
    for (const { path, identity } of opened) {
      const found = identityOf(path)
      if (found === identity) continue
      hasRefused = true
      throw goneError(file, path, found === undefined)
    }
  }

  return {
    check(writes) {
      const isDue = areGone || platformTime.elapsed() - lookedAt >= LOOK_MS
      if (!isDue && !writes) return
      areGone = true
      look()
      areGone = false
      lookedAt = platformTime.elapsed()
    },
    hasRefused: () => hasRefused,
    areGone: () => opened.some(({ path, identity }) => identityOf(path) !== identity),
    isFileThere: () => identityOf(file) === opened[0]!.identity,
  }
}

function goneError(file: string, path: string, isMissing: boolean): LooseleafError {
  return new LooseleafError(
    'SHARD_UNAVAILABLE',
    `${file}: ${basename(path)} was ${isMissing ? 'deleted or moved' : 'replaced by another file'} while it was open; nothing was done. ` +
      'Put the files back that were there. Or close the store, which leaves a copy of its data beside them, and open it again.',
    { shard: basename(file) },
  )
}
