import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { sqliteShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { ImportUndone } from '../src/domain/imports/import-record.ts'
import { importsOf } from '../src/domain/imports/imports.ts'
import { storeFeed } from '../src/domain/imports/store-feed.ts'
import { openSite } from '../src/domain/site/site.ts'
import { fileOf, now } from './import-bench.ts'

test('an import that another process undoes stops, and leaves nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-undo-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const site = await openSite({ shards: sqliteShards({ folder, shards: 2 }), cleaner: false })
  onTestFinished(() => site.close())
  const { data, store } = site
  const person = store.newId()
  const program = await bundleOf(new URL('./undo-child.ts', import.meta.url))

  async function undoElsewhere(): Promise<void> {
    const id = (await importsOf(data, person)).items[0]?.id
    const child = fork(program, {
      env: { ...process.env, FOLDER: folder, IMPORT: id, PERSON: person },
      execArgv: ['--conditions=@looseleaf/source'],
      stdio: 'inherit',
    })
    expect(await once(child, 'exit')).toEqual([0, null])
  }
  let batches = 0
  const insertMany = async (values: Parameters<typeof data.entries.insertMany>[0]) => {
    const fates = await data.entries.insertMany(values, { fates: true })
    if (++batches === 2) await undoElsewhere()
    return fates
  }
  const overlapped = { ...data, entries: { ...data.entries, insertMany } } as unknown as typeof data
  const file = fileOf(...Array.from({ length: 900 }, (_, i) => `${i}`))
  await expect(storeFeed(overlapped, file, person, now)).rejects.toThrow(ImportUndone)
  expect(batches).toBe(2)
  const kinds: unknown[] = []
  for await (const entity of store.scan()) kinds.push(entity['_kind'])
  expect(kinds).toEqual([])
})
