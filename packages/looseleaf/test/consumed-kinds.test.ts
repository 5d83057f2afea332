import {
  consume,
  type DataStore,
  defineKind,
  dropConsumer,
  envelopeCodec,
  memoryShards,
  readConsumers,
  readDeadLetters,
  replayDeadLetters,
  typed,
  type Bag,
  type Codec,
  type ChangedItem,
  type ItemOf,
} from 'looseleaf'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import {
  Comment,
  describeConsumedKinds,
  Entry,
  fillInboxes,
  Inbox,
  openKinds,
  expectSoon,
  QUICK,
  shortly,
} from './consumed-kinds-scenario.ts'

describeConsumedKinds('two SQLite shards', async () => keepOpen(await memoryShards(2).connect()))

let store: DataStore
let handled: string[]
let errors: unknown[]

beforeEach(async () => {
  store = await openKinds(memoryShards(1))
  handled = []
  errors = []
})
afterEach(() => store.close())

const keep = (change: Pick<ChangedItem, 'kind' | 'item'>): void => void handled.push(shortly(change))
const onError = (error: unknown): void => void errors.push(error)

describe('the items of a consumer of kinds', () => {
  test('an item is the one that reads return, with upgrades, version and time', async () => {
    const { id, version } = await store.put({ text: 'old', _kind: 'entry' })
    const found: ChangedItem<typeof Entry>[] = []
    await using _ = consume(store, 'deliver', (change) => void found.push(change), {
      ...QUICK,
      kinds: [Entry],
    })
    await expectSoon(() => found.length).toBe(1)
    expect(found[0]).toEqual({
      id,
      version,
      updated: expect.any(Date),
      attempt: 1,
      kind: 'entry',
      item: { title: 'old', likes: 0, id, version },
    })
    expect(found[0]!.item).toEqual(await Entry.in(store).get(id))
  })

  test('a handler has the types of the items of its kinds', () => {
    const ofOne = (): unknown =>
      consume(
        store,
        'one',
        ({ item, kind }) => {
          expectTypeOf(item).toEqualTypeOf<ItemOf<typeof Entry> | undefined>()
          expectTypeOf(kind).toEqualTypeOf<'entry' | undefined>()
        },
        {
          kinds: [Entry],
          onError: (_, change) => expectTypeOf(change!.item?.title).toEqualTypeOf<string | undefined>(),
        },
      )
    const ofTwo = (): unknown =>
      consume(
        store,
        'two',
        ({ kind, item }) => {
          expectTypeOf(item).toEqualTypeOf<ItemOf<typeof Entry> | ItemOf<typeof Comment> | undefined>()
          if (kind === 'entry') expectTypeOf(item).toEqualTypeOf<ItemOf<typeof Entry> | undefined>()
          if (kind === 'comment') expectTypeOf(item).toEqualTypeOf<ItemOf<typeof Comment> | undefined>()
          if (kind === undefined) expectTypeOf(item).toEqualTypeOf<undefined>()
        },
        { kinds: [Entry, Comment] },
      )
    // @ts-expect-error: the changes of kinds have an item, and no entity
    const withEntity = (): unknown => consume(store, 'three', ({ entity }) => entity, { kinds: [Entry] })
    expect([ofOne, ofTwo, withEntity]).toHaveLength(3)
  })

  test('an expired item is handed over as undefined, with its kind', async () => {
    const Session = defineKind('session', { schema: typed<{ until: Date }>(), expires: 'until' })
    await store.addIndex(Session.indexes)
    await Session.in(store).insert({ until: new Date(Date.now() + 60_000) })
    await store.put({ until: new Date(0), _kind: 'session' })
    await using _ = consume(store, 'deliver', keep, { ...QUICK, kinds: [Session] })
    await expectSoon(() => handled.length).toBe(2)
    expect(handled.filter((text) => text === 'session expired')).toHaveLength(1)
  })

  test('entities under a former name are of the kind', async () => {
    await Comment.in(store).insert({ text: 'old' })
    const Remark = defineKind('remark', { formerly: ['comment'], schema: typed<{ text: string }>() })
    await using _ = consume(store, 'deliver', keep, { ...QUICK, kinds: [Remark] })
    await expectSoon(() => handled).toEqual(['remark old'])
  })

  test('an entity that does not fit its kind fails as a change and becomes a dead letter', async () => {
    const Strict = defineKind('strict', {
      schema: typed<{ n: number }>(),
      upgrades: [() => undefined as never],
    })
    await store.put({ n: 1, _kind: 'strict' })
    await using _ = consume(store, 'deliver', keep, { ...QUICK, kinds: [Strict], maxAttempts: 2, onError })
    await expectSoon(async () => (await readDeadLetters(store, 'deliver')).length).toBe(1)
    expect(errors).toMatchObject([{ code: 'SCHEMA_MISMATCH' }, { code: 'SCHEMA_MISMATCH' }])
    expect(handled).toEqual([])
  })
})

describe('an entity that gets another kind', () => {
  test('an entity that gets another kind is not handed over, unless a change of it fails: then it comes as a deletion', async () => {
    const quiet = await Entry.in(store).insert({ title: 'quiet', likes: 0 })
    const failing = await Entry.in(store).insert({ title: 'failing', likes: 0 })
    let isDown = true
    const handler = (change: ChangedItem<typeof Entry>): void => {
      if (isDown && change.id === failing.id) throw new Error('down')
      keep(change)
    }
    await using consumer = consume(store, 'deliver', handler, { ...QUICK, retryMs: 50, kinds: [Entry] })
    await expectSoon(() => consumer.status().failed > 0 && handled).toEqual(['entry quiet'])
    for (const { id } of [quiet, failing])
      await store.put({ text: 'now a comment', _kind: 'comment' }, { id })
    // An attempt may have read the entity before the put. The second one from here on has not.
    const { failed } = consumer.status()
    await expectSoon(() => consumer.status().failed).toBeGreaterThan(failed + 1)
    isDown = false
    await expectSoon(() => handled).toEqual(['entry quiet', '-'])
    await Entry.in(store).insert({ title: 'last', likes: 0 })
    await expectSoon(() => handled).toEqual(['entry quiet', '-', 'entry last'])
    expect(consumer.status().shards[0]!.failing).toBe(0)
  })

  test('a replayed dead letter of an entity that got another kind comes as a deletion', async () => {
    const { id } = await Entry.in(store).insert({ title: 'bad', likes: 0 })
    const handler = (change: ChangedItem<typeof Entry>): void => {
      if (change.item !== undefined) throw new Error('bad')
      keep(change)
    }
    await using _ = consume(store, 'deliver', handler, { ...QUICK, kinds: [Entry], maxAttempts: 1 })
    await expectSoon(async () => (await readDeadLetters(store, 'deliver')).length).toBe(1)
    await store.put({ text: 'now a comment', _kind: 'comment' }, { id })
    expect(await replayDeadLetters(store, 'deliver')).toBe(1)
    await expectSoon(() => handled).toEqual(['-'])
    await expectSoon(async () => (await readDeadLetters(store, 'deliver')).length).toBe(0)
  })
})

describe('the kinds of a registered consumer', () => {
  const Remark = defineKind('remark', { formerly: ['comment'], schema: typed<{ text: string }>() })

  async function register(kinds?: readonly [typeof Comment]): Promise<void> {
    await using consumer = kinds
      ? consume(store, 'deliver', keep, { ...QUICK, kinds })
      : consume(store, 'deliver', () => {}, QUICK)
    await expectSoon(() => consumer.status().shards.every(({ partitions }) => partitions === 8)).toBe(true)
  }

  test('reports show the kinds of a consumer, and none for a consumer of all entities', async () => {
    await register([Comment])
    await using _ = consume(store, 'other', () => {}, QUICK)
    await expectSoon(async () =>
      (await readConsumers(store)).map(({ name, kinds }) => [name, kinds]),
    ).toEqual([
      ['deliver', ['comment']],
      ['other', undefined],
    ])
  })

  test('a consumer that is started with other kinds ends with BAD_OPTION and handles nothing', async () => {
    await register([Comment])
    await Comment.in(store).insert({ text: 'nice' })
    const starts = [
      () => consume(store, 'deliver', keep, { ...QUICK, onError, kinds: [Entry] }),
      () => consume(store, 'deliver', keep, { ...QUICK, onError, kinds: [Comment, Entry] }),
      () => consume(store, 'deliver', () => void handled.push('any'), { ...QUICK, onError }),
    ]
    for (const start of starts) {
      await using consumer = start()
      await expectSoon(() => consumer.status().isRunning).toBe(false)
    }
    expect(errors).toMatchObject(starts.map(() => ({ code: 'BAD_OPTION' })))
    expect(String(errors[0])).toContain(
      'registered for entities of the kinds comment, and was started for entities of the kinds entry',
    )
    expect(handled).toEqual([])
    await dropConsumer(store, 'deliver')
    await register()
    await using consumer = consume(store, 'deliver', keep, { ...QUICK, onError, kinds: [Comment] })
    await expectSoon(() => consumer.status().isRunning).toBe(false)
    expect(String(errors.at(-1))).toContain('registered for entities of all kinds')
  })

  test('a consumer that is started with a part of its kinds ends with BAD_OPTION', async () => {
    const both = consume(store, 'deliver', keep, { ...QUICK, kinds: [Comment, Entry] })
    await expectSoon(() => both.status().shards.every(({ partitions }) => partitions === 8)).toBe(true)
    await both.stop()
    await using consumer = consume(store, 'deliver', keep, { ...QUICK, onError, kinds: [Entry] })
    await expectSoon(() => consumer.status().isRunning).toBe(false)
    expect(String(errors[0])).toContain(
      'registered for entities of the kinds comment, entry, and was started for entities of the kinds entry',
    )
  })

  test('a renamed kind is the registered one', async () => {
    await register([Comment])
    await Comment.in(store).insert({ text: 'nice' })
    await using _ = consume(store, 'deliver', keep, { ...QUICK, kinds: [Remark] })
    await expectSoon(() => handled).toEqual(['remark nice'])
  })

  test.each<[string, unknown]>([
    ['no kind', []],
    ['a name', ['entry']],
    ['a kind twice', [Entry, Entry]],
    ['a kind and one that has its name as a former one', [Comment, Remark]],
    ['one kind without a list', Entry],
  ])('%s as kinds of a consumer is refused with BAD_OPTION', (_, kinds) => {
    expect(() => consume(store, 'deliver', keep, { ...QUICK, kinds: kinds as [typeof Entry] })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('kinds') }),
    )
  })

  test.each<[string, unknown]>([
    ['no name', []],
    ['a kind', [Entry]],
    ['a name without a list', 'entry'],
  ])('%s as kinds of the changes of a store is refused with BAD_OPTION', (_, kinds) => {
    expect(() => store.changes({ kinds: kinds as string[] })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    )
    expect(() => Entry.in(store).changes({ kinds: ['entry'] } as object)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    )
  })
})

describe('the bodies of other kinds', () => {
  /** Counts the bodies that it decodes. */
  function counting(hasKindOf: boolean): Codec & { decoded: number } {
    const { name, encode, decode, kindOf } = envelopeCodec()
    const codec = {
      name,
      encode,
      decoded: 0,
      decode(body: Uint8Array): Bag {
        codec.decoded++
        return decode(body)
      },
      ...(hasKindOf && { kindOf: kindOf! }),
    }
    return codec
  }

  test('bodies of other kinds are not decoded for a consumer or changes of kinds, if the codec can tell the kind of a body', async () => {
    const codec = counting(true)
    await using other = await openKinds(memoryShards(1), codec)
    await fillInboxes(other, 100)
    await Entry.in(other).insert({ title: 'one', likes: 0 })
    codec.decoded = 0
    await using consumer = consume(other, 'deliver', keep, { ...QUICK, kinds: [Entry] })
    await expectSoon(() => handled).toEqual(['entry one'])
    await consumer.stop()
    for await (const { item } of Entry.in(other).changes({ from: 'beginning' }))
      if (item?.title === 'one') break
    expect(codec.decoded).toBe(2)
  })

  test('bodies of other kinds are not decoded while a change of their partition fails', async () => {
    const codec = counting(true)
    await using other = await openKinds(memoryShards(1), codec)
    await Entry.in(other).insert({ title: 'bad', likes: 0 })
    const handler = (change: ChangedItem<typeof Entry>): void => {
      if (change.item?.title === 'bad') throw new Error('bad')
      keep(change)
    }
    await using consumer = consume(other, 'deliver', handler, { ...QUICK, retryMs: 60_000, kinds: [Entry] })
    await expectSoon(() => consumer.status().shards[0]?.failing).toBe(1)
    await fillInboxes(other, 100)
    codec.decoded = 0
    await Entry.in(other).insert({ title: 'last', likes: 0 })
    await expectSoon(() => handled).toEqual(['entry last'])
    await consumer.stop()
    expect(codec.decoded).toBe(1)
  })

  test('entities of other kinds are left out with a codec that cannot tell the kind of a body', async () => {
    await using other = await openKinds(memoryShards(1), counting(false))
    await fillInboxes(other, 10)
    await Entry.in(other).insert({ title: 'one', likes: 0 })
    await using _ = consume(other, 'deliver', keep, { ...QUICK, kinds: [Entry] })
    await expectSoon(() => handled).toEqual(['entry one'])
    for await (const { item } of Entry.in(other).changes({ from: 'beginning' })) {
      expect(item).toMatchObject({ title: 'one' })
      break
    }
  })

  test('a damaged body may be of any kind, so it fails as a change of each consumer', async () => {
    const { id } = await Inbox.in(store).insert({ reader: 'ada' })
    const { codec, driver } = store.context
    const body = Buffer.from(codec.encode({ reader: 'ada', _kind: 'inbox' }))
    body[body.length - 1]! ^= 1
    const [row] = await driver.shards[0]!.entities.pageByAdded(0, 1)
    const { epoch } = await driver.shards[0]!.entities.floor()
    await driver.shards[0]!.entities.replace(
      [{ id: row!.id, base: row!.version, version: row!.version + 1, body }],
      { epoch },
    )
    await using consumer = consume(store, 'deliver', keep, { ...QUICK, onError, kinds: [Entry] })
    await expectSoon(() => consumer.status().shards[0]?.failing).toBe(1)
    expect(errors[0]).toMatchObject({ code: 'BODY_DAMAGED', entity: id })
  })
})
