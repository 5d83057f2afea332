import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkIndex, cleanIndex } from '@looseleaf/cleaner'
import { envelopeCodec, jsonFormat } from '@looseleaf/codec'
import { parseId, type EntityId } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { damageBody, type DamagedLine } from './damage-body.ts'
import { projectFolder, runInside } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const foreign = envelopeCodec({ format: { ...jsonFormat, id: 31, name: 'foreign' } })

let cwd: string
let store: DataStore
/** Six entities: the first is damaged, the second in an unknown format, the third has version 0. */
let ids: EntityId[]

beforeEach(async () => {
  cwd = projectFolder()
  const shards = shardsFrom(SHARDS, { relativeTo: cwd, create: true })
  store = await DataStore.open({ shards, indexes: [byName], migrate: true, queryTimeMs: 10 })
  onTestFinished(() => store.close())
  ids = []
  // Each shard gets intact entities, because a shard whose whole sample is damaged causes a warning.
  for (let n = 0; n < 6; n++)
    ids.push((await store.put({ name: `name ${n}` }, { id: idOn(store, n % 2) })).id)
  await damageBody(store, ids[0]!, (body) => Buffer.concat([body, Buffer.from('x')]))
  await damageBody(store, ids[1]!, () => foreign.encode({}))
  ids[2] = randomUUID()
  const number = store.context.router.shardOfId(parseId(ids[2]))
  const body = store.context.codec.encode({ name: 'whole' })
  const epoch = store.context.catalog.current().epochs[number]!
  await store.context.driver.shards[number]!.entities.insert([{ id: parseId(ids[2]), version: 0, body }], {
    epoch,
  })
})

const damaged = (...args: string[]) => runInside(['damaged', '--shards', SHARDS, ...args], { cwd })

function linesOf(stdout: string): Map<EntityId, DamagedLine> {
  const lines = stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => JSON.parse(line) as DamagedLine).map((line) => [line.id, line]))
}

async function storedBody(id: EntityId): Promise<Uint8Array | null | undefined> {
  const shard = store.context.driver.shards[store.context.router.shardOfId(parseId(id))]!
  return (await shard.entities.read([parseId(id)]))[0]?.body
}

test('status --check finds bodies that cannot be read before any cleaning', async () => {
  const checked = await runInside(['status', '--check', 'act', '--json', '--shards', SHARDS], { cwd })
  expect(checked.code).toBe(1)
  expect(checked.json()).toMatchObject({
    findings: [
      {
        rule: 'damaged',
        problem: expect.stringMatching(/^2 of the 7 bodies .*; the error of one: A stored body /),
      },
    ],
  })
})

test('damaged lists entities that cannot be read, and changes nothing', async () => {
  const before = await Promise.all(ids.map(storedBody))
  const listed = await damaged('--json')
  expect(listed).toMatchObject({ code: 1, stderr: '' })
  const lines = linesOf(listed.stdout)
  expect([...lines.keys()].toSorted()).toEqual(ids.slice(0, 3).toSorted())
  expect(ids.slice(0, 3).map((id) => lines.get(id)!.code)).toEqual([
    'BODY_DAMAGED',
    'BODY_UNKNOWN',
    'BODY_DAMAGED',
  ])
  expect(lines.get(ids[2]!)).toMatchObject({
    version: 0,
    message: expect.stringContaining('damaged --repair') as unknown,
  })
  expect(lines.get(ids[0]!)).not.toHaveProperty('file')
  expect(lines.get(ids[0]!)).not.toHaveProperty('deleted')
  const text = await damaged()
  expect(text.code).toBe(1)
  expect(text.stdout.split('\n')).toHaveLength(4)
  for (const id of ids.slice(0, 3)) expect(text.stdout).toContain(id)
  expect(text.stderr).toBe('3 entities cannot be read.\n')
  expect(await Promise.all(ids.map(storedBody))).toEqual(before)
})

test('damaged reports a store without damage', async () => {
  const empty = await runInside(['init', '--shards', 'sqlite:other'], { cwd })
  expect(empty.code).toBe(0)
  const other = await runInside(['damaged', '--shards', 'sqlite:other'], { cwd })
  expect(other).toMatchObject({ code: 0, stdout: '', stderr: 'Every entity can be read.\n' })
})

test('damaged lists every entity of an unreadable store', async () => {
  const given = 'sqlite:other'
  const shards = shardsFrom(given, { relativeTo: cwd, create: true })
  const other = await DataStore.open({ shards, migrate: true })
  onTestFinished(() => other.close())
  for (const name of ['a', 'b']) {
    await damageBody(other, (await other.put({ name })).id, (body) => body.subarray(1))
  }
  const listed = await runInside(['damaged', '--shards', given], { cwd })
  expect(listed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^(BODY_DAMAGED .*\n){2}$/) })
  expect(listed.stderr).toMatch(/They are damaged, or another codec wrote them.*\n2 entities cannot be read/s)
})

test('damaged --export writes the bytes of each for the user alone, and can be repeated', async () => {
  const folder = join(cwd, 'kept', 'bodies')
  for (let time = 0; time < 2; time++) {
    const lines = linesOf((await damaged('--export', 'kept/bodies', '--json')).stdout)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readdirSync(folder)).toHaveLength(6)
    for (const id of ids.slice(0, 3)) {
      const { file, version, shard, code } = lines.get(id)!
      const body = readFileSync(file!)
      expect(body).toEqual(Buffer.from((await storedBody(id))!))
      for (const name of [file!, `${file}.json`]) expect(statSync(name).mode & 0o777).toBe(0o600)
      expect(JSON.parse(readFileSync(`${file}.json`, 'utf8'))).toMatchObject({
        id,
        idHex: id.replaceAll('-', ''),
        version,
        shard,
        code,
        bodyBytes: body.length,
        sha256: createHash('sha256').update(body).digest('hex'),
      })
    }
  }
})

test('damaged --export keeps the files of an earlier state of an entity', async () => {
  await damaged('--export', 'bodies')
  await damageBody(store, ids[0]!, (body) => body.subarray(3))
  await damaged('--export', 'bodies')
  expect(readdirSync(join(cwd, 'bodies')).filter((name) => name.startsWith(ids[0]!))).toHaveLength(4)
})

test('damaged --delete deletes damaged entities, and keeps their bytes and all other entities', async () => {
  const before = Buffer.from((await storedBody(ids[0]!))!)
  const done = await damaged('--export', 'bodies', '--delete', '--yes', '--json')
  expect(done.code).toBe(1)
  const lines = linesOf(done.stdout)
  expect(ids.slice(0, 3).map((id) => lines.get(id)!.deleted)).toEqual([true, false, false])
  expect(readFileSync(lines.get(ids[0]!)!.file!)).toEqual(before)
  expect(await store.get(ids[0]!)).toBeUndefined()
  expect(foreign.decode((await storedBody(ids[1]!))!)).toEqual({})
  expect(store.context.codec.decode((await storedBody(ids[2]!))!)).toEqual({ name: 'whole' })

  await store.put({ name: 'again' }, { id: ids[1]! })
  const text = await damaged('--export', 'bodies', '--delete', '--yes')
  expect(text.stdout).toMatch(/Its row has version 0.* Kept\.\n$/)
  await cleanIndex(store, 'by_name')
  expect(await checkIndex(store, 'by_name')).toMatchObject({ missing: 0, dangling: 0 })
})

test('damaged --repair gives rows with an invalid version a valid one, and leaves other entities alone', async () => {
  const done = await damaged('--repair', '--json')
  expect(done.code).toBe(1)
  const lines = linesOf(done.stdout)
  expect(ids.slice(0, 3).map((id) => lines.get(id)!.repaired)).toEqual([false, false, true])
  expect(await store.get(ids[2]!)).toEqual({ id: ids[2], name: 'whole' })
  const again = await damaged('--repair')
  expect(again.stdout).not.toContain(ids[2])
  expect(again.stderr).toBe('2 entities cannot be read.\n')
  await cleanIndex(store, 'by_name')
  expect((await store.query(byName, { name: 'whole' })).items).toMatchObject([{ id: ids[2] }])
})

test('damaged --delete exits with 0 after it has deleted everything', async () => {
  const first = await runInside(['init', '--shards', 'sqlite:other'], { cwd })
  expect(first.code).toBe(0)
  const other = await DataStore.open({ shards: shardsFrom('sqlite:other', { relativeTo: cwd }) })
  onTestFinished(() => other.close())
  await other.put({})
  const { id } = await other.put({ name: 'x' })
  await damageBody(other, id, () => new Uint8Array([1]))
  const args = ['damaged', '--shards', 'sqlite:other', '--export', 'bodies', '--delete', '--yes']
  expect(await runInside(args, { cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ Deleted\.\n$/) as unknown,
    stderr: '1 entity cannot be read, 1 of them deleted. Now run: looseleaf clean\n',
  })
  expect(await runInside(args, { cwd })).toMatchObject({ code: 0, stdout: '' })
})

test.each([['--delete'], ['--delete', '--yes'], ['--delete', '--export', 'bodies']])(
  'damaged %s %s %s deletes nothing',
  async (...args) => {
    const refused = await damaged(...args)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--yes, and --export')
    expect(await storedBody(ids[0]!)).not.toBeNull()
  },
)

test('damaged --delete deletes nothing when another codec has written the store', async () => {
  // A custom codec whose bodies look damaged to the default codec. It reads all other bodies as empty bags.
  writeFileSync(
    join(cwd, 'own.config.mjs'),
    `export default {
      shards: '${SHARDS}',
      codec: { name: 'own', encode: (bag) => Buffer.from(JSON.stringify(bag)), decode: (body) => (body[0] === 123 ? JSON.parse(Buffer.from(body)) : {}) },
    }`,
  )
  for (let n = 0; n < 5; n++) {
    const put = await runInside(['put', '{"own":true}', '--config', 'own.config.mjs'], { cwd })
    expect(put.code).toBe(0)
  }
  const refused = await damaged('--export', 'bodies', '--delete', '--yes', '--json')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/7 entities are damaged and 4 can be read.*msgpack/)
})

test('damaged --delete keeps an entity that it could not export', async () => {
  writeFileSync(join(cwd, 'a file'), '')
  const failed = await damaged('--export', 'a file', '--delete', '--yes')
  expect(failed).toMatchObject({ code: 2, stdout: '' })
  expect(failed.stderr).toContain('a file')
  expect(await storedBody(ids[0]!)).not.toBeNull()
})
