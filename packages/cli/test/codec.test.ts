import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { envelopeCodec } from '@looseleaf/codec'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'
const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { envelopeCodec } from '@looseleaf/codec'

export default defineConfig({ shards: '${SHARDS}', codec: envelopeCodec({ shapes: true, dictionary: true }) })
`

test('codec train stores a dictionary, codec show lists it and the shards that lack it, and get and export read such bodies', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const store = await DataStore.open({
    shards: shardsFrom(SHARDS, { relativeTo: cwd, create: true }),
    codec: envelopeCodec({ shapes: true, dictionary: true }),
    migrate: true,
    time: { now: () => Date.now(), sleep: async () => {} },
  })
  onTestFinished(() => store.close())
  expect((await runInside(['codec', 'show'], { cwd })).stdout).toBe('No shapes and no dictionaries.\n')
  const bagOf = (n: number): object => ({
    title: `Something new on page ${n}`,
    link: `https://example.com/${n}`,
  })
  for (let n = 0; n < 40; n++) await store.put(bagOf(n) as { title: string })
  await expect.poll(async () => (await store.context.driver.shards[1]!.codecEntries.all()).length).toBe(1)

  const trained = await runInside(['codec', 'train', '--sample', '80', '--bytes', '512', '--json'], { cwd })
  const { id, sample } = trained.json<{ id: string; sample: number }>()
  expect([trained.code, sample]).toEqual([0, 40])
  const shown = await runInside(['codec', 'show', '--json'], { cwd })
  expect(shown.code).toBe(0)
  const listed = shown.json<{ id: string; kind: string; shards: string[]; names?: unknown }[]>()
  expect(listed.map(({ kind, shards, names }) => [kind, shards.length, names])).toEqual([
    ['shape', 2, ['title', 'link']],
    ['dictionary', 2, undefined],
  ])
  expect(listed[1]!.id).toBe(id)

  const bag = {
    title: 'Something new on page 99, and of a size that is worth it',
    link: 'https://example.com/99',
  }
  const put = await runInside(['put', JSON.stringify(bag), '--json'], { cwd })
  const entity = put.json<{ id: string }>().id
  const text = await runInside(['get', entity, '--shards', SHARDS, '--json'], { cwd })
  expect(text.json()).toMatchObject({ entities: [{ properties: bag }] })
  const exported = await runInside(['export', '--shards', SHARDS], { cwd })
  expect(exported.stdout).toContain(bag.title)
  expect((await runInside(['damaged', '--shards', SHARDS], { cwd })).code).toBe(0)
  const table = (await runInside(['codec', 'show'], { cwd })).stdout
  expect(table).toContain('["title","link"]')
  expect(table).toContain('2 of 2')

  // `node:sqlite` does not see the locks of the driver's SQLite in this process, and would delete its log while it is open.
  await store.close()
  const onFiles = (sql: string, ...files: number[]): void => {
    for (const number of files) {
      const file = new DatabaseSync(join(cwd, 'data', `shard-${number}.sqlite`))
      file.exec(sql)
      file.close()
    }
  }
  const expectWords = async (command: string[], ...words: string[]): Promise<void> => {
    const { code, stdout } = await runInside(command, { cwd })
    expect([command, code]).toEqual([command, command.length === 1 || command[0] === 'top' ? 0 : 1])
    for (const word of words) expect(stdout).toContain(word)
  }
  const everywhere = [['status'], ['status', '--check', 'act'], ['top', '--looks', '1'], ['codec', 'show']]

  // Damaged on one shard: readers use the row of the other shard.
  onFiles(`UPDATE looseleaf_codec SET bytes = x'00' WHERE kind = 'dictionary'`, 0)
  for (const command of everywhere) await expectWords(command, `dictionary ${id}`, 'is damaged on', 'shard-0')
  await expectWords(['codec', 'show'], '1 of 2, damaged on 1')
  expect((await runInside(['get', entity], { cwd })).code).toBe(0)

  // Deleted on all shards, while the shape stays.
  onFiles(`DELETE FROM looseleaf_codec WHERE kind = 'dictionary'`, 0, 1)
  for (const command of everywhere)
    await expectWords(command, `dictionary ${id}`, 'no shard that answers has it')
  await expectWords(['codec', 'show'], '0 of 2')
  const checked = await runInside(['status', '--check', 'act', '--json'], { cwd })
  expect(checked.json()).toMatchObject({
    grade: 'act',
    findings: [{ rule: 'codec entries', about: `dictionary ${id}`, see: 'A lost codec entry' }],
  })
  expect((await runInside(['codec', 'show'], { cwd })).stderr).toContain(`The dictionary ${id}: no shard`)
})

test('codec train without entities exits with 1 and names the number that it needs', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  const trained = await runInside(['codec', 'train'], { cwd })
  expect(trained.code).toBe(1)
  expect(trained.stderr).toContain('a dictionary needs 20 readable entities')
})
