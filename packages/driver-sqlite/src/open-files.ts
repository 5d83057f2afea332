import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'

/** Milliseconds between two checks before reads. */
const CHECK_MS = 1_000

/**
 * The open files of a database, by device and inode. They are gone if their names lead to other files, or to none: SQLite then
 * continues with files that have no name, and whatever it commits to them is deleted when they are closed.
 */
export interface OpenFiles {
  /**
   * Throws `SHARD_UNAVAILABLE` if the files are gone. Checks before every write; before reads once a second, and each time while the
   * files are gone.
   */
  check(writes: boolean): void
  areGone(): boolean
  /** Checks whether the database file still has its name. Its log may be gone. */
  isFileThere(): boolean
  /** Tells whether a call was ever rejected because the files were gone. */
  hasRefused(): boolean
}

/** Files of a database in memory. */
export const noFiles: OpenFiles = {
  check() {},
  areGone: () => false,
  isFileThere: () => true,
  hasRefused: () => false,
}

/** Returns the device and inode of a file; undefined if it is missing. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** Remembers the files with these names as those that the database has open. */
export function watchFiles(file: string): OpenFiles {
  const opened = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, identity: identityOf(path) }))
  let areGone = false
  let hasRefused = false
  let checkedAt = platformTime.elapsed()

  // `-shm` counts too: processes with different ones do not see each other's locks, and overwrite each other's log.
  function throwIfGone(): void {
    for (const { path, identity } of opened) {
      const found = identityOf(path)
      if (found === identity) continue
      hasRefused = true
      throw goneError(file, path, found === undefined)
    }
  }

  return {
    check(writes) {
      const isDue = areGone || platformTime.elapsed() - checkedAt >= CHECK_MS
      if (!isDue && !writes) return
      areGone = true
      throwIfGone()
      areGone = false
      checkedAt = platformTime.elapsed()
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
      'Put the original files back. Or close the store, which leaves a copy of its data beside them, and open it again.',
    { shard: basename(file) },
  )
}
