import { closeSync, mkdirSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { platformTime } from '@looseleaf/core/internal'
import type Database from 'better-sqlite3'
import { FILE_MODE, FOLDER_MODE } from './file-modes.ts'

/**
 * Copies a database whose files are gone to a new file in their folder, which is created again if it is missing. Only the open handles
 * still have the acknowledged writes. Emits a warning with the name of the copy, or with the reason why there is none. Never throws.
 */
export function rescue(database: Database.Database, file: string): void {
  const time = new Date(platformTime.now()).toISOString().replaceAll(/[:.]/g, '-')
  const copy = `${file}.rescued-${time}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE })
    // SQLite fills an existing empty file, and keeps its mode.
    closeSync(openSync(copy, 'wx', FILE_MODE))
    database.prepare('VACUUM INTO ?').run(copy)
    warn(`${copy} has the data that this process had. Put it in the place of the file, or delete it.`)
  } catch (error) {
    warn(`No copy of its data could be made (${(error as { code?: string }).code}).`)
  }

  function warn(sentence: string): void {
    process.emitWarning(
      `The files of ${basename(file)} were gone when it was closed. ${sentence}`,
      'LooseleafWarning',
    )
  }
}
