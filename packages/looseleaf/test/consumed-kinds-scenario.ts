import { consumerPlaces, shardAt } from '@looseleaf/protocol/internal'
import {
  consume,
  DataStore,
  defineKind,
  readConsumers,
  typed,
  type Codec,
  type ConsumeOptions,
  type Consumer,
  type DriverFactory,
} from 'looseleaf'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

export const Entry = defineKind('entry', {
  schema: typed<{ title: string; likes: number }>(),
  upgrades: [({ text, ...others }) => ({ title: text ?? others['title'], likes: 0, ...others })],
})
export const Comment = defineKind('comment', { schema: typed<{ text: string }>() })
export const Inbox = defineKind('inbox', { schema: typed<{ reader: string }>() })

export const QUICK = { from: 'beginning', pollMs: 10, leaseMs: 300, retryMs: 5 } as const

/** As `expect.poll`, with time for a busy machine. */
export const expectSoon = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 20_000, interval: 10 })

/** Changes in short: kind and title or text, or `-` for a deletion. */
export const shortly = ({ kind, item }: { kind: string | undefined; item: object | undefined }): string =>
  kind === undefined ? '-' : `${kind} ${item === undefined ? 'expired' : (Object.values(item)[0] as string)}`

export function openKinds(shards: DriverFactory, codec?: Codec): Promise<DataStore> {
  return DataStore.open({ shards, migrate: true, onWarning: () => {}, ...(codec && { codec }) })
}

/** Puts entities of another kind than the consumer's, on all shards. */
export async function fillInboxes(store: DataStore, count: number): Promise<void> {
  await Inbox.in(store).insertMany(Array.from({ length: count }, (_, n) => ({ reader: `reader ${n}` })))
}

/** Tests the guarantees of consumers and changes of some kinds on two shards. */
export function describeConsumedKinds(database: string, openShards: () => Promise<DriverFactory>): void {
  describe(`consumers of kinds on ${database}`, () => {
    let shards: DriverFactory
    let store: DataStore
    let consumers: Consumer[]
    let handled: string[]

    beforeEach(async () => {
      shards = await openShards()
      store = await openKinds(shards)
      consumers = []
      handled = []
    })
    afterEach(async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()))
      await store.close()
    })

    const start = (options: Pick<ConsumeOptions, 'from' | 'pollMs'> = {}): Consumer => {
      const consumer = consume(store, 'deliver', (change) => void handled.push(shortly(change)), {
        ...QUICK,
        ...options,
        kinds: [Entry, Comment],
      })
      consumers.push(consumer)
      return consumer
    }

    test('a consumer of kinds receives their stored entities, later writes, and deletions, and no entity of another kind', async () => {
      const entries = Entry.in(store)
      const { id } = await entries.insert({ title: 'first', likes: 1 })
      await store.put({ text: 'of an old program', _kind: 'entry' })
      await store.put({ title: 'of no kind' })
      await fillInboxes(store, 40)
      const consumer = start()
      await expectSoon(() => handled.toSorted()).toEqual(['entry first', 'entry of an old program'])
      await fillInboxes(store, 40)
      await Comment.in(store).insert({ text: 'nice' })
      await expectSoon(() => handled.at(-1)).toBe('comment nice')
      await entries.update(id, { title: 'again' })
      await expectSoon(() => handled.at(-1)).toBe('entry again')
      await entries.delete(id)
      await expectSoon(() => handled.slice(2)).toEqual(['comment nice', 'entry again', '-'])
      expect(consumer.status()).toMatchObject({ handled: 5, failed: 0 })
    })

    test('the saved place of a consumer whose kinds are quiet moves on while entities of other kinds are written', async () => {
      const consumer = start({ from: 'now' })
      await expectSoon(() => consumer.status().shards.every(({ partitions }) => partitions === 8)).toBe(true)
      await fillInboxes(store, 60)
      const newest = await Promise.all(
        [0, 1].map(async (shard) => {
          const rows = await shardAt(store.context, shard).entities.pageByUpdated({ since: 0 }, 1)
          return rows[0]!.updated
        }),
      )
      const isBehind = async (): Promise<boolean> => {
        const places = await Promise.all([0, 1].map((shard) => consumerPlaces(store.context, shard, {})))
        return places.some((place, shard) => place.get('deliver')! <= newest[shard]!)
      }
      await expectSoon(isBehind).toBe(false)
      expect(handled).toEqual([])
      const [report] = await readConsumers(store)
      expect(report!.shards.every(({ lagMs }) => lagMs! < 15_000)).toBe(true)
    })

    test('a consumer of kinds passes pages of other kinds without a pause between two reads', async () => {
      await fillInboxes(store, 2_400)
      await Entry.in(store).insertMany(
        [{ title: 'one' }, { title: 'two' }].map((entry) => ({ ...entry, likes: 0 })),
      )
      start({ pollMs: 60_000 })
      await expectSoon(() => handled.toSorted()).toEqual(['entry one', 'entry two'])
    })

    test('the changes of a collection and those of the store by kinds leave out entities of other kinds, and cursors continue', async () => {
      await fillInboxes(store, 30)
      const first = await Entry.in(store).insert({ title: 'first', likes: 0 })
      let cursor = ''
      for await (const change of Entry.in(store).changes({ from: 'beginning', pollMs: 10 })) {
        expect(change.item).toEqual(first)
        ;({ cursor } = change)
        break
      }
      await fillInboxes(store, 30)
      await Comment.in(store).insert({ text: 'nice' })
      await Entry.in(store).delete(first.id)
      const found: unknown[] = []
      for await (const { id, entity } of store.changes({
        from: cursor,
        kinds: ['comment', 'entry'],
        pollMs: 10,
      })) {
        found.push(entity?.['text'] ?? id)
        if (found.length === 2) break
      }
      expect(found.toSorted()).toEqual(['nice', first.id].toSorted())
    })
  })
}
