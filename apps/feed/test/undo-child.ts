import { sqliteShards } from 'looseleaf'
import { undoImport } from '../src/domain/imports/undo-import.ts'
import { openSite } from '../src/domain/site/site.ts'

/*
 * Undoes an import as a process of its own, for a test. Its environment has the folder of the shards (`FOLDER`), the import (`IMPORT`) and its
 * person (`PERSON`).
 */
const { FOLDER, IMPORT, PERSON } = process.env as Record<'FOLDER' | 'IMPORT' | 'PERSON', string>
const site = await openSite({ shards: sqliteShards({ folder: FOLDER, shards: 2 }), cleaner: false })
await undoImport(site.data, IMPORT, PERSON)
await site.close()
