import type { Attributes, BatchObservableResult, Meter, Observable } from '@opentelemetry/api'
import { tableKind } from '@looseleaf/core'
import type { DataStore, StoreStats } from '@looseleaf/store'
import type { ShardStats } from '@looseleaf/store/internal'

/** Reports the numbers of a store at each collection of metrics. Returns a function that ends this. */
export function observeStats(meter: Meter, store: Pick<DataStore, 'stats'>): () => void {
  const instruments: Observable[] = []
  const registered = <O extends Observable>(instrument: O): O => (instruments.push(instrument), instrument)
  const now = (name: string, unit: string, description: string): Observable =>
    registered(meter.createObservableUpDownCounter(name, { unit, description }))
  const total = (name: string, unit: string, description: string): Observable =>
    registered(meter.createObservableCounter(name, { unit, description }))

  const active = now('looseleaf.call.active', '{call}', 'Calls in flight.')
  const connections = now('db.client.connection.count', '{connection}', 'Connections, idle and used.')
  const maximum = now('db.client.connection.max', '{connection}', 'Largest number of connections.')
  const pending = now(
    'db.client.connection.pending_requests',
    '{request}',
    'Calls that wait for a connection.',
  )
  const refusing = now(
    'looseleaf.shard.refusing',
    '{shard}',
    '1 while calls are rejected without being sent.',
  )
  const statements = total('looseleaf.lane.statements', '{statement}', 'Statements that lanes have sent.')
  const items = total('looseleaf.lane.items', '{item}', 'Rows, ids and scans in these statements.')
  const waiting = now('looseleaf.lane.waiting', '{item}', 'Rows, ids and scans that wait to be sent.')
  const rows = now(
    'looseleaf.removal.kept_rows',
    '{row}',
    'Lost index rows that are kept until no query needs them.',
  )
  const entities = now('looseleaf.cache.entities', '{entity}', 'Entities in the cache.')
  const bytes = now('looseleaf.cache.size', 'By', 'Bytes in the cache.')
  const lookups = total('looseleaf.cache.lookups', '{lookup}', 'Look-ups in the cache, by result.')
  const cacheFailures = total('looseleaf.cache.failures', '{call}', 'Failed calls of a shared cache.')
  const followedHits = total(
    'looseleaf.cache.followed_hits',
    '{lookup}',
    'Hits that are possible because the cache follows changes.',
  )
  const looks = total('looseleaf.cache.looks', '{look}', 'Reads of changes by the cache.')
  const age = now(
    'looseleaf.cache.followed_age',
    's',
    'Time since the cache last read the changes of a shard.',
  )

  const replicaAge = now('looseleaf.replica.age', 's', 'Time since which a replica may lack writes.')
  const excluded = now('looseleaf.replica.excluded', '{replica}', '1 while a replica is not read.')

  function observeServer(
    result: BatchObservableResult,
    { name, connections: pool, lanes }: Pick<ShardStats, 'name' | 'connections' | 'lanes'>,
  ): void {
    if (pool !== undefined) {
      const attributes = { 'db.client.connection.pool.name': name }
      const inState = (state: string): Attributes => ({ ...attributes, 'db.client.connection.state': state })
      result.observe(connections, pool.idle, inState('idle'))
      result.observe(connections, pool.open - pool.idle, inState('used'))
      result.observe(maximum, pool.limit, attributes)
      result.observe(pending, pool.waiting, attributes)
      result.observe(refusing, pool.refusal === undefined ? 0 : 1, { 'looseleaf.shard': name })
    }
    const byKind = Map.groupBy(lanes, ({ table, kind }) => `${tableKind(table)} ${kind}`)
    for (const [lane, ofKind] of byKind) {
      const attributes = { 'looseleaf.shard': name, 'looseleaf.lane': lane }
      const sumOf = (field: 'statements' | 'items' | 'waiting'): number =>
        ofKind.reduce((sum, each) => sum + each[field], 0)
      result.observe(statements, sumOf('statements'), attributes)
      result.observe(items, sumOf('items'), attributes)
      result.observe(waiting, sumOf('waiting'), attributes)
    }
  }

  function collect(result: BatchObservableResult): void {
    const { callsInFlight, shards, removals, cache }: StoreStats = store.stats()
    result.observe(active, callsInFlight)
    result.observe(rows, removals.kept)
    for (const shard of shards) {
      observeServer(result, shard)
      for (const replica of shard.replicas) {
        observeServer(result, replica)
        const attributes = { 'looseleaf.shard': replica.name }
        result.observe(excluded, replica.exclusionReason === undefined ? 0 : 1, attributes)
        if (replica.ageMs !== undefined) result.observe(replicaAge, replica.ageMs / 1000, attributes)
      }
    }
    if (cache === undefined) return
    if (cache.entities !== undefined) result.observe(entities, cache.entities)
    if (cache.bytes !== undefined) result.observe(bytes, cache.bytes)
    result.observe(cacheFailures, cache.failures)
    result.observe(lookups, cache.hits, { 'looseleaf.result': 'hit' })
    result.observe(lookups, cache.misses, { 'looseleaf.result': 'miss' })
    if (cache.followed === undefined) return
    const { hits, looks: lookCount, ageMs } = cache.followed
    result.observe(followedHits, hits)
    result.observe(looks, lookCount)
    if (ageMs !== undefined) result.observe(age, ageMs / 1000)
  }

  meter.addBatchObservableCallback(collect, instruments)
  return () => meter.removeBatchObservableCallback(collect, instruments)
}
