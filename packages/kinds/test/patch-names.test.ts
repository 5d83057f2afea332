import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, unset, type Schema } from '../src/index.ts'
import { openStore } from './issues.ts'

const Slot = defineKind('slot', {
  schema: z.object({ room: z.string(), status: z.string().default('open'), note: z.string().optional() }),
  indexes: { byRoom: { by: [{ room: 'string' }] } },
})
const misspelt = { staus: 'closed' } as { status?: string }

test('a patch whose names are all unknown to the schema rejects every call before it writes, and names the nearest one', async () => {
  const slots = Slot.in(await openStore(Slot))
  const { id, version } = await slots.insert({ room: 'a' })
  const expected = {
    code: 'BAD_PROPERTY',
    message: 'The kind slot has no property "staus" to change. Is it "status"?',
  }
  await expect(slots.update(id, misspelt)).rejects.toMatchObject(expected)
  await expect(slots.updateMany([id], misspelt)).rejects.toMatchObject(expected)
  await expect(slots.upsert(id, { room: 'b' }, misspelt)).rejects.toMatchObject(expected)
  await expect(slots.byRoom.updateWhere({ room: 'a' }, misspelt)).rejects.toMatchObject(expected)
  await expect(slots.update(id, { elsewhere: 1 } as object)).rejects.toMatchObject({
    message: 'The kind slot has no property "elsewhere" to change. There are room, status, note.',
  })
  expect((await slots.get(id))?.version).toBe(version)
})

test('a patch or an edit with one unknown name is refused as a whole, and `updateWhere` lists the entity as failed', async () => {
  const slots = Slot.in(await openStore(Slot))
  const { id, version } = await slots.insert({ room: 'a' })
  const expected = {
    code: 'BAD_PROPERTY',
    message: `The slot ${id} has no property "staus" to change. Is it "status"?`,
  }
  const patch = { note: 'x', ...misspelt }
  await expect(slots.update(id, patch)).rejects.toMatchObject(expected)
  await expect(slots.update(id, (): typeof patch => patch)).rejects.toMatchObject(expected)
  expect(await slots.byRoom.updateWhere({ room: 'a' }, patch)).toMatchObject({
    done: 0,
    complete: false,
    failed: [{ id, error: expected }],
  })
  expect((await slots.get(id))?.version).toBe(version)
})

test('a patch may give back an unknown property that is stored, and may remove it', async () => {
  const store = await openStore(Slot)
  const slots = Slot.in(store)
  const { id } = await store.put({ _kind: 'slot', room: 'a', status: 'open', seats: 4 })
  const { id: _, version: __, ...properties } = (await slots.get(id))!
  await slots.update(id, { ...properties, note: 'x' })
  await slots.update(id, (now) => ({ ...now, room: 'b' }))
  expect(await store.get(id)).toMatchObject({ room: 'b', note: 'x', seats: 4 })
  await slots.update(id, { seats: unset } as object)
  expect(await store.get(id)).not.toHaveProperty('seats')
})

type Texts = Readonly<Record<string, string>>
test.each<[string, Schema<unknown, unknown>]>([
  ['takes any names', z.looseObject({ room: z.string() })],
  ['has a catchall', z.object({ room: z.string() }).catchall(z.string())],
  ['is a record', z.record(z.string(), z.string())],
  ['does not describe itself', typed<Texts>()],
])('a patch of a kind whose schema %s may have any name', async (_, schema) => {
  const Open = defineKind('open', { schema: schema as Schema<Texts, Texts> })
  const store = await openStore(Open)
  const { id } = await Open.in(store).insert({ room: 'a' })
  await Open.in(store).update(id, { staus: 'x' })
  expect(await store.get(id)).toMatchObject({ staus: 'x' })
})

test('a patch may have the names of every variant of a union, and no other', async () => {
  const Shape = defineKind('shape', {
    schema: z.discriminatedUnion('is', [
      z.object({ is: z.literal('circle'), radius: z.number() }),
      z.object({ is: z.literal('square'), side: z.number() }),
    ]),
  })
  const shapes = Shape.in(await openStore(Shape))
  const { id } = await shapes.insert({ is: 'circle', radius: 1 })
  await shapes.update(id, { is: 'square', side: 2 })
  await expect(shapes.update(id, { sides: 2 } as object)).rejects.toThrow(/Is it "side"/)
})

test('a copy of an item with its version and without its id is refused with the way to copy it', async () => {
  const slots = Slot.in(await openStore(Slot))
  const { id, ...copy } = await slots.insert({ room: 'a' })
  await expect(slots.insert(copy)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message:
      'insert got a value with a version and without an id. To write a copy of an item, leave out its version, too; to write the item itself, give both.',
  })
  expect(await slots.exists(id)).toBe(true)
})

test('an error of an option names the call of the index', async () => {
  const { byRoom } = Slot.in(await openStore(Slot))
  const where = { room: 'a' }
  const bad = { limt: 1 } as object
  for (const [name, call] of Object.entries({
    page: () => byRoom.page(where, bad),
    all: () => byRoom.all(where, bad),
    first: () => byRoom.first(where, bad),
    ids: () => byRoom.ids(where, bad),
    pageMany: () => byRoom.pageMany([where], bad),
    list: () => byRoom.list(where, bad),
    count: () => byRoom.count(where, bad),
    countMany: () => byRoom.countMany([where], bad),
    explain: () => byRoom.explain(where, bad),
    updateWhere: () => byRoom.updateWhere(where, {}, bad),
    deleteWhere: () => byRoom.deleteWhere(where, bad),
    each: async () => {
      for await (const _ of byRoom.each(where, bad)) break
    },
  })) {
    await expect(call()).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(new RegExp(`^${name} has no option "limt"`)),
    })
  }
  await expect(byRoom.pageMany(where as never)).rejects.toThrow(/^pageMany takes an array/)
})

test('a schema error names every problem, up to ten', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `p${i}`)
  const Wide = defineKind('wide', {
    schema: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))),
  })
  const error: unknown = await Wide.in(await openStore(Wide))
    .insert({} as never)
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'SCHEMA_MISMATCH', issues: { length: 12 } })
  expect(String(error)).toMatch(/: p0: .*; p1: .*; p9: [^;]* \(and 2 more\)\.$/)
})

test('an update through a strict schema refuses an entity with a property of a newer program, and another schema keeps it', async () => {
  for (const [schema, isStrict] of [
    [z.strictObject({ room: z.string() }), true],
    [z.object({ room: z.string() }), false],
  ] as const) {
    const Desk = defineKind('desk', { schema })
    const store = await openStore(Desk)
    const { id } = await store.put({ _kind: 'desk', room: 'a', seats: 4 })
    const update = Desk.in(store).update(id, { room: 'b' })
    if (isStrict) await expect(update).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH' })
    else await update
    expect(await store.get(id)).toMatchObject({ room: isStrict ? 'a' : 'b', seats: 4 })
  }
})
