import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { projectFolder, runInside } from './run-command.ts'

const config = (unique: boolean): string => `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'

export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [
    defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: ${unique} }),
  ],
})
`

test('an index in use becomes unique: violations lists its duplicates, and it is ready once they are resolved', async () => {
  const cwd = projectFolder()
  // A process loads a config file once, so each config has a name of its own.
  let file = 'plain.config.ts'
  const run = (...words: string[]): ReturnType<typeof runInside> =>
    runInside([...words, '--config', file], { cwd })
  const put = async (...words: string[]): Promise<string> =>
    (await run('put', ...words, '--json')).json<{ id: string }>().id
  writeFileSync(join(cwd, file), config(false))
  await run('init')
  const ids = [await put('{"mail":"ada"}'), await put('{"mail":"ada"}')]
  await put('{"mail":"eve"}')

  file = 'unique.config.ts'
  writeFileSync(join(cwd, file), config(true))
  const refusal = await run('index', 'violations', 'by_mail')
  expect([refusal.code, refusal.stderr]).toEqual([2, expect.stringContaining('by_mail is not unique')])
  const added = await run('index', 'add', 'by_mail')
  expect(added.stdout).toBe(
    'Index by_mail is building its claims. Fill it with: looseleaf clean --index by_mail\n',
  )
  const early = await run('index', 'violations', 'by_mail')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('3 keys are not claimed yet')])
  const listed = await run('index', 'list')
  expect(listed.stdout).toMatch(/by_mail +1 +ready .*index_by_mail/)
  expect(listed.stdout).toMatch(/by_mail \(unique\) +1 +building .*claims_by_mail/)

  const cleaned = await run('clean', '--index', 'by_mail')
  expect(cleaned.stdout).toContain('looseleaf index violations by_mail')
  expect(cleaned.code).toBe(1)
  expect((await run('index', 'add', 'by_mail')).stdout).toBe(
    'Index by_mail is filled, but 1 entity has a key that another entity has claimed: its claims are not ready. List the entities with: looseleaf index violations by_mail. Change or delete one entity of each pair, then run: looseleaf clean --index by_mail\n',
  )
  const again = await run('index', 'add', 'by_mail', '--json')
  expect(again.json()).toMatchObject({ indexes: [{ state: 'ready', claims: 'building', duplicates: 1 }] })
  const found = await run('index', 'violations', 'by_mail', '--json')
  expect(found.code).toBe(1)
  const { violations } = found.json<{ violations: { entity: string; holder: string }[] }>()
  expect(violations).toHaveLength(1)
  const [{ entity, holder }] = violations as [{ entity: string; holder: string }]
  expect([entity, holder].toSorted()).toEqual(ids.toSorted())
  expect((await run('index', 'violations', 'by_mail')).stdout).toContain(entity)

  const refused = await run('put', '{"mail":"eve"}')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('Index by_mail is unique')

  await put(`{"mail":"ada two"}`, '--id', entity)
  expect((await run('clean', '--index', 'by_mail')).code).toBe(0)
  expect((await run('index', 'add', 'by_mail')).stdout).toBe('Index by_mail is ready.\n')
  const none = await run('index', 'violations', 'by_mail')
  expect([none.code, none.stdout]).toEqual([0, 'No entity has a key that another entity has claimed.\n'])
  expect((await run('status')).stdout).toMatch(/by_mail \(unique\) +1 +ready/)
  expect((await run('clean', '--check')).code).toBe(0)
})

test('a generation is dropped once, and a second run of the same command drops no other one', async () => {
  const cwd = projectFolder()
  const write = (name: string, properties: string, unique: boolean): void =>
    writeFileSync(join(cwd, name), config(unique).replace("{ mail: 'string' }", properties))
  write('one.config.ts', "{ mail: 'string' }", false)
  write('two.config.ts', "{ mail: { type: 'string', key: 'lower' } }", true)
  const run = (...words: string[]): ReturnType<typeof runInside> =>
    runInside([...words, '--config', 'two.config.ts'], { cwd })
  await runInside(['init', '--config', 'one.config.ts'], { cwd })
  await run('put', '{"mail":"ada"}')
  await run('index', 'add', 'by_mail')
  await run('clean')
  const drop = ['index', 'drop', 'by_mail', '--generation', '1', '--now', '--yes']
  expect([(await run(...drop)).code, (await run(...drop)).code]).toEqual([0, 2])
  const { indexes } = (await run('index', 'list', '--json')).json<{ indexes: { table: string }[] }>()
  expect(indexes.map(({ table }) => table)).toEqual(['index_by_mail_2', 'claims_by_mail'])
})

test('an index is queried although its claims have a later generation', async () => {
  const cwd = projectFolder()
  const listed = config(true).replace('unique: true', "unique: true, include: ['title']")
  writeFileSync(join(cwd, 'listed.config.ts'), listed)
  const run = (...words: string[]): ReturnType<typeof runInside> =>
    runInside([...words, '--config', 'listed.config.ts'], { cwd })
  // The claims have a line of their own, and are no second index.
  expect((await run('init')).stdout).toContain('2 shards, 1 index.')
  await run('put', '{"mail":"ada"}')
  const db = new DatabaseSync(join(cwd, 'data', 'shard-0.sqlite'))
  db.exec('DROP TABLE claims_by_mail')
  db.close()
  await run('init')
  await run('clean')
  const { indexes } = (await run('index', 'list', '--json')).json<{ indexes: object[] }>()
  expect(indexes).toMatchObject([
    { table: 'index_by_mail', state: 'ready', include: ['title'] },
    { table: 'claims_by_mail_2', state: 'ready', unique: true },
  ])
  expect((await run('count', 'by_mail', 'mail=ada', '--json')).json()).toMatchObject({ count: 1 })
})

test('import --on-error skip skips lines whose keys are claimed', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'unique.config.ts'), config(true))
  const run = (...words: string[]): ReturnType<typeof runInside> =>
    runInside([...words, '--config', 'unique.config.ts'], { cwd })
  await run('init')
  await run('put', '{"mail":"ada"}')
  writeFileSync(join(cwd, 'lines.jsonl'), '{"mail":"eve"}\n{"mail":"ada"}\n{"mail":"bob"}\n')
  await run('import', 'lines.jsonl', '--on-error', 'skip')
  const { count } = (await run('count', 'by_mail', '--scatter', '--json')).json<{ count: number }>()
  expect(count).toBe(3)
})

/** Creates a store with a unique index and two entities that share a key of the stricter generation in the second config. */
async function withStricterConfig(): Promise<{
  ids: string[]
  run: (...words: string[]) => ReturnType<typeof runInside>
  runOld: (...words: string[]) => ReturnType<typeof runInside>
}> {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'one.config.ts'), config(true))
  const stricter = "{ mail: { type: 'string', key: 'lower' } }"
  writeFileSync(join(cwd, 'two.config.ts'), config(true).replace("{ mail: 'string' }", stricter))
  const withFile =
    (file: string) =>
    (...words: string[]): ReturnType<typeof runInside> =>
      runInside([...words, '--config', file], { cwd })
  const [runOld, run] = [withFile('one.config.ts'), withFile('two.config.ts')]
  await runOld('init')
  const ids: string[] = []
  for (const mail of ['ada', 'ADA'])
    ids.push((await runOld('put', JSON.stringify({ mail }), '--json')).json<{ id: string }>().id)
  return { ids, run, runOld }
}

test('the dry run of a stricter unique generation says that it refuses writes of all programs, which name the generation', async () => {
  const { run, runOld } = await withStricterConfig()
  const note = 'It would be unique for all programs at once'
  const planned = await run('index', 'add', 'by_mail', '--dry-run')
  expect(planned.stdout).toContain(note)
  const plan = await run('index', 'add', 'by_mail', '--dry-run', '--json')
  expect(plan.json()).toMatchObject({ indexes: [{ action: 'generation', refusesDuplicates: true }] })
  const unchanged = await runOld('index', 'add', 'by_mail', '--dry-run')
  expect([unchanged.code, unchanged.stdout.includes(note)]).toEqual([0, false])

  await run('index', 'add', 'by_mail')
  await runOld('put', '{"mail":"eve"}')
  const refused = await runOld('put', '{"mail":"Eve"}')
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('Index by_mail, generation 2 (mail lower of mail string), is unique'),
  ])
  await run('index', 'drop', 'by_mail', '--generation', '2', '--now', '--yes')
  expect((await runOld('put', '{"mail":"Eve"}')).code).toBe(0)
})

test('swap says that duplicates hold a filled unique generation, and names the command that lists them', async () => {
  const { ids, run } = await withStricterConfig()
  await run('index', 'add', 'by_mail')
  expect((await run('index', 'swap', 'by_mail', '--dry-run')).stderr).toContain('generation 2, is building')
  await run('index', 'repair', 'by_mail', '--generation', '2')
  const held = await run('index', 'swap', 'by_mail', '--dry-run')
  expect([held.code, held.stderr]).toEqual([
    4,
    'Error: Index by_mail, generation 2, is filled, but 1 entity has a key that another entity has claimed: the others stay until it is ready. List the entities with: looseleaf index violations by_mail. Change or delete one entity of each pair, then run: looseleaf index repair by_mail --generation 2\n',
  ])
  const violations = await run('index', 'violations', 'by_mail')
  for (const id of ids) expect(violations.stdout).toContain(id)

  await run('put', '{"mail":"eve"}', '--id', ids[1]!)
  await run('index', 'repair', 'by_mail', '--generation', '2')
  expect((await run('index', 'swap', 'by_mail', '--dry-run')).code).toBe(0)
})
