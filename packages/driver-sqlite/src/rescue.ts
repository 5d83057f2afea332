import { closeSync, mkdirSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { platformTime } from '@looseleaf/core'
import type Database from 'better-sqlite3'
import { FILE_MODE, FOLDER_MODE } from './file-modes.ts'

/**
 * Copies a database whose files are gone to a file of another name in their folder, which is made again if it is gone too. The open
 * handles are the last that has the acknowledged writes. Warns of the copy, or of the reason why there is none; never throws.
 */
export function rescue(database: Database.Database, file: string): void {
  const time = new Date(platformTime.now()).toISOString().replaceAll(/[:.]/g, '-')
  const copy = `${file}.rescued-${time}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE })
    // SQLite fills an empty file, which has its mode already.
    closeSync(openSync(copy, 'wx', FILE_MODE))
    database.prepare('VACUUM INTO ?').run(copy)
    warn(`${copy} has the data that this process had. Put it in the place of the file, or delete it.`)
  } catch (error) {
    warn(`No copy of its data could be made (${(error as { code?: string }).code}).`)
  }

  function warn(what: string): void {
    process.emitWarning(
      `The files of ${basename(file)} were gone when it was closed. ${what}`,
      'LooseleafWarning',
    )
  }
}
