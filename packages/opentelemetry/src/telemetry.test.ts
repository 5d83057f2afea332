import {
  context,
  INVALID_SPAN_CONTEXT,
  SpanStatusCode,
  trace,
  TraceFlags,
  type MeterProvider as Meters,
  type SpanContext,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace'
import type { Observer, StoreEvent } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openTelemetry } from './telemetry.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

async function open(meterProvider?: Meters) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const observer = openTelemetry({ system: 'sqlite', tracerProvider, meterProvider })
  const store = await DataStore.open({
    shards: memoryShards(1),
    indexes: [byName],
    migrate: true,
    onWarning: () => {},
    observer,
  })
  onTestFinished(() => store.close())
  const tracer = tracerProvider.getTracer('the program')
  /** Returns the spans of some work, which runs within its own span, by their names. */
  async function spansOf(work: () => Promise<unknown>): Promise<ReadableSpan[]> {
    exporter.reset()
    await tracer.startActiveSpan('request', async (span) => {
      await work()
      span.end()
    })
    return exporter.getFinishedSpans()
  }
  return { store, observer, spansOf }
}

/** Returns the metrics that were exported last. */
const lastOf = (exporter: InMemoryMetricExporter): MetricData[] =>
  exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap(({ metrics }) => metrics)

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const found = spans.find((span) => span.name === name)
  expect(found, `${name} among ${spans.map((span) => span.name).join(', ')}`).toBeDefined()
  return found!
}

describe('spans', () => {
  test('a call in an unsampled trace has no span, whatever the sampler would decide now', async () => {
    const { store, spansOf } = await open()
    const own = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
    const around = async (of: SpanContext): Promise<string[]> => {
      const within = trace.setSpan(context.active(), trace.wrapSpanContext(of))
      const spans = await spansOf(() => context.with(within, () => store.get(store.newId())))
      return spans.map(({ name }) => name)
    }
    expect(await around({ ...own, traceFlags: TraceFlags.NONE })).toEqual(['request'])
    const all = ['SELECT entities', 'get', 'request']
    expect(await around({ ...own, traceFlags: TraceFlags.SAMPLED })).toEqual(all)
    // No trace at all.
    expect(await around(INVALID_SPAN_CONTEXT)).toEqual(all)
  })

  test("a call's span is a child of the request's, and its statements' spans are children of the call's", async () => {
    const { store, spansOf } = await open()
    await store.put({ name: 'ada' })
    // A query reads the catalog now and then, and the first one does.
    await store.query(byName, { name: 'ada' })
    const spans = await spansOf(() => store.query(byName, { name: 'ada' }))
    expect(spans.map(({ name }) => name)).toEqual(['SELECT index_by_name', 'query by_name', 'request'])
    const call = named(spans, 'query by_name')
    expect(call.parentSpanContext?.spanId).toBe(named(spans, 'request').spanContext().spanId)
    const statement = named(spans, 'SELECT index_by_name')
    expect(statement.parentSpanContext?.spanId).toBe(call.spanContext().spanId)
    expect(statement.attributes).toEqual({
      'db.system.name': 'sqlite',
      'db.operation.name': 'SELECT',
      'db.query.summary': 'SELECT index_by_name',
      'db.collection.name': 'index_by_name',
      'db.response.returned_rows': 1,
      'looseleaf.shard': 'memory 0',
      'looseleaf.calls': 1,
    })
    expect(toMs(statement.startTime)).toBeGreaterThanOrEqual(toMs(call.startTime) - 1)
    expect(toMs(statement.endTime)).toBeLessThanOrEqual(toMs(call.endTime) + 1)
    expect(Math.abs(toMs(statement.startTime) - Date.now())).toBeLessThan(60_000)
  })

  test('calls that share a statement and the statement have links to each other', async () => {
    const { store, spansOf } = await open()
    const ids = await Promise.all(['ada', 'bo'].map(async (name) => (await store.put({ name })).id))
    const spans = await spansOf(() => Promise.all(ids.map((id) => store.get(id))))
    const [one, other] = spans.filter(({ name }) => name === 'get')
    const statement = named(spans, 'SELECT entities')
    expect(statement.parentSpanContext?.spanId).toBe(one!.spanContext().spanId)
    expect(statement.links.map((link) => link.context.spanId)).toEqual([other!.spanContext().spanId])
    expect(other!.links.map((link) => link.context.spanId)).toEqual([statement.spanContext().spanId])
    expect(statement.attributes['looseleaf.calls']).toBe(2)
  })

  test('the span of a failed call has the code of its error', async () => {
    const { store, spansOf } = await open()
    const spans = await spansOf(() => store.update(store.newId(), (bag) => bag).catch(() => {}))
    expect(named(spans, 'update')).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'NOT_FOUND' },
      attributes: { 'error.type': 'NOT_FOUND' },
    })
  })

  test('spans contain no value of a bag', async () => {
    const { store, spansOf } = await open()
    const spans = await spansOf(async () => {
      const { id } = await store.put({ name: 'very secret' })
      await store.query(byName, { name: 'very secret' })
      await store.delete(id)
    })
    const told = spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
    expect(JSON.stringify(told)).not.toMatch(/secret/)
  })
})

describe('metrics', () => {
  test('events of a store, a cleaner, a consumer and a mover are counted', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter })
    const { happened } = openTelemetry({
      system: 'sqlite',
      meterProvider: new MeterProvider({ readers: [reader] }),
    }) as Required<Observer>
    const shard = 'h:1/d'
    const counts = { entities: 5, rows: 0, added: 2, removed: 1, undecodable: 1 }
    const events: StoreEvent[] = [
      { kind: 'halved', code: 'BAD_OPTION', items: 7, shard },
      { kind: 'breaker', outcome: 'opened', shard },
      { kind: 'breaker', outcome: 'closed', shard },
      { kind: 'cleaning', work: 'fill', outcome: 'begun', index: 'by_name' },
      { kind: 'cleaned', work: 'fill', index: 'by_name', shard, ...counts },
      { kind: 'cleaned', work: 'fill', index: 'by_name', shard, ...counts },
      {
        kind: 'round',
        shard,
        lagMs: 2_500,
        ...counts,
        rows: 3,
        removedByIndex: new Map([['by_name', 1]]),
      },
      { kind: 'cleaner_failed', code: 'UNKNOWN' },
      { kind: 'consumed', consumer: 'search', shard, handled: 3, failed: 2, deadLettered: 1, lagMs: 250 },
      {
        kind: 'consumed',
        consumer: 'search',
        shard,
        handled: 1,
        failed: 0,
        deadLettered: 0,
        lagMs: Infinity,
      },
      { kind: 'skipped', code: 'SHARD_UNAVAILABLE', shard },
      { kind: 'seal_wait', shard, waitMs: 30 },
      { kind: 'move', outcome: 'begun', move: 7, from: shard, to: 'h:2/d' },
      { kind: 'copied', from: shard, to: 'h:2/d', entities: 500, rows: 900, claims: 0 },
      { kind: 'copied', from: shard, to: 'h:2/d', entities: 0, rows: 0, claims: 20 },
      { kind: 'handed_over', from: shard, to: 'h:2/d', buckets: 64, sealedMs: 8 },
      { kind: 'move', outcome: 'ended', move: 7, from: shard, to: 'h:2/d' },
    ]
    for (const event of events) happened(event, [])
    await reader.forceFlush()
    const [{ scopeMetrics } = { scopeMetrics: [] }] = exporter.getMetrics()
    const collected = scopeMetrics.flatMap(({ metrics }) => metrics)
    const told = Object.fromEntries(
      collected.map(({ descriptor: { name } }) => [name, points(collected, name)]),
    )
    const on = '"looseleaf.shard":"h:1/d"'
    const fill = '"looseleaf.work":"fill","looseleaf.index":"by_name"'
    const follow = `"looseleaf.work":"follow",${on}`
    const moved = '"looseleaf.source":"h:1/d","looseleaf.target":"h:2/d"'
    expect(told).toEqual({
      'looseleaf.read.skipped_shards': { [`{"error.type":"SHARD_UNAVAILABLE",${on}}`]: 1 },
      'looseleaf.lane.halved_statements': { [`{"error.type":"BAD_OPTION",${on}}`]: 1 },
      'looseleaf.shard.breaker_changes': {
        [`{"looseleaf.outcome":"opened",${on}}`]: 1,
        [`{"looseleaf.outcome":"closed",${on}}`]: 1,
      },
      'looseleaf.cleaner.cleanings': {
        '{"looseleaf.work":"fill","looseleaf.outcome":"begun","looseleaf.index":"by_name"}': 1,
      },
      'looseleaf.cleaner.read': {
        [`{${fill},${on},"looseleaf.item":"entity"}`]: 10,
        [`{${follow},"looseleaf.item":"entity"}`]: 5,
        [`{${follow},"looseleaf.item":"row"}`]: 3,
      },
      'looseleaf.cleaner.rows': {
        [`{${fill},${on},"looseleaf.change":"added"}`]: 4,
        [`{${fill},${on},"looseleaf.change":"removed"}`]: 2,
        [`{${follow},"looseleaf.change":"added"}`]: 2,
        [`{${follow},"looseleaf.change":"removed"}`]: 1,
      },
      'looseleaf.cleaner.undecodable': { [`{${fill},${on}}`]: 2, [`{${follow}}`]: 1 },
      'looseleaf.cleaner.failures': { '{"error.type":"UNKNOWN"}': 1 },
      'looseleaf.cleaner.lag': { [`{${on}}`]: 1 },
      'looseleaf.consumer.lag': { [`{"looseleaf.consumer":"search",${on}}`]: 1 },
      'looseleaf.consumer.changes': Object.fromEntries(
        Object.entries({ handled: 4, failed: 2, dead_lettered: 1 }).map(([outcome, count]) => [
          `{"looseleaf.consumer":"search",${on},"looseleaf.outcome":"${outcome}"}`,
          count,
        ]),
      ),
      'looseleaf.write.seal_wait': { [`{${on}}`]: 1 },
      'looseleaf.move.walks': {
        [`{${moved},"looseleaf.outcome":"begun"}`]: 1,
        [`{${moved},"looseleaf.outcome":"ended"}`]: 1,
      },
      'looseleaf.move.copied': {
        [`{${moved},"looseleaf.item":"entity"}`]: 500,
        [`{${moved},"looseleaf.item":"row"}`]: 900,
        [`{${moved},"looseleaf.item":"claim"}`]: 20,
      },
      'looseleaf.move.buckets': { [`{${moved}}`]: 64 },
      'looseleaf.move.sealed': { [`{${moved}}`]: 1 },
    })
    const lag = collected.find(({ descriptor }) => descriptor.name === 'looseleaf.cleaner.lag')
    expect(lag?.dataPoints[0]?.value).toMatchObject({ sum: 2.5 })
  })

  test('durations of calls and statements, and the numbers of the store, are reported', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter })
    const { store, observer } = await open(new MeterProvider({ readers: [reader] }))
    let asked = 0
    const stop = observer.watch({ stats: () => (asked++, store.stats()) })
    const { id } = await store.put({ name: 'ada' })
    await store.get(id)
    await store.update(store.newId(), (bag) => bag).catch(() => {})
    await reader.forceFlush()
    const collected = lastOf(exporter)
    expect(points(collected, 'looseleaf.call.duration')).toEqual({
      '{"looseleaf.call":"put"}': 1,
      '{"looseleaf.call":"get"}': 1,
      '{"looseleaf.call":"update","error.type":"NOT_FOUND"}': 1,
    })
    const ofStatement = (operation: string, table: string): string =>
      JSON.stringify({
        'db.system.name': 'sqlite',
        'db.operation.name': operation,
        'looseleaf.shard': 'memory 0',
        'looseleaf.table': table,
      })
    expect(points(collected, 'db.client.operation.duration')).toMatchObject({
      [ofStatement('TRANSACTION', 'entities')]: 1,
      [ofStatement('SELECT', 'entities')]: expect.any(Number),
    })
    expect(points(collected, 'looseleaf.lane.items')).toMatchObject({
      '{"looseleaf.shard":"memory 0","looseleaf.lane":"entities insert"}': 1,
    })
    expect(points(collected, 'looseleaf.call.active')).toEqual({ '{}': 0 })
    const before = asked
    expect(before).toBeGreaterThan(0)
    stop()
    await reader.forceFlush()
    expect(asked).toBe(before)
  })

  test('the age of replicas, and whether they are read, are reported', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter })
    const observer = openTelemetry({
      system: 'sqlite',
      meterProvider: new MeterProvider({ readers: [reader] }),
    })
    const memory = await memoryShards(1).connect()
    const [shard] = memory.shards
    const refuses = {
      ...shard!,
      name: 'dead',
      entities: { ...shard!.entities, floor: () => Promise.reject(new Error()) },
    }
    const replicas = [{ ...shard!, name: 'replica' }, refuses]
    const store = await DataStore.open({
      shards: {
        shardCount: 1,
        connect: async () => ({ shards: [{ ...shard!, replicas }], close: () => memory.close() }),
      },
      migrate: true,
    })
    onTestFinished(() => store.close())
    observer.watch(store)
    const { id } = await store.put({ name: 'ada' })
    while (store.stats().shards[0]!.replicas.every(({ ageMs }) => ageMs === undefined)) {
      await store.get(id, { from: 'replica', maxStalenessMs: 200 })
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await store.get(id, { from: 'replica', maxStalenessMs: 60_000 })
    await reader.forceFlush()
    const collected = lastOf(exporter)
    expect(points(collected, 'looseleaf.replica.age')).toEqual({
      '{"looseleaf.shard":"replica"}': expect.any(Number),
    })
    expect(points(collected, 'looseleaf.replica.excluded')).toEqual({
      '{"looseleaf.shard":"replica"}': 0,
      '{"looseleaf.shard":"dead"}': 1,
    })
    expect(points(collected, 'looseleaf.lane.items')).toMatchObject({
      '{"looseleaf.shard":"replica","looseleaf.lane":"entities read"}': 1,
    })
  })

  test('Prometheus collects the metrics', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true, host: '127.0.0.1', port: 0 })
    const { store } = await open(new MeterProvider({ readers: [exporter] }))
    const { createServer } = await import('node:http')
    const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    await store.put({ name: 'ada' })
    const { port } = server.address() as { port: number }
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(page).toMatch(/looseleaf_call_duration_count\{[^}]*looseleaf_call="put"[^}]*\} 1/)
    expect(page).toMatch(/db_client_operation_duration_bucket/)
  })
})

test('a missing system is rejected', () => {
  expect(() => openTelemetry({} as never)).toThrow("such as 'mariadb'; got nothing")
})

function points(metrics: readonly MetricData[], name: string): Record<string, number> {
  const metric = metrics.find(({ descriptor }) => descriptor.name === name)
  return Object.fromEntries(
    (metric?.dataPoints ?? []).map(({ attributes, value }) => [
      JSON.stringify(attributes),
      typeof value === 'number' ? value : (value as { count: number }).count,
    ]),
  )
}

function toMs([seconds, nanoseconds]: readonly [number, number]): number {
  return seconds * 1_000 + nanoseconds / 1e6
}

test('invalid and misspelt options are rejected', () => {
  const system = 'sqlite'
  const bad: readonly [unknown, RegExp][] = [
    [undefined, /^openTelemetry takes options as an object; got nothing/],
    [{}, /^openTelemetry takes \{ system \}/],
    [
      { system, tracerProvidr: trace },
      /no option "tracerProvidr"; there are system, tracerProvider, meterProvider/,
    ],
    [{ system, tracerProvider: {} }, /tracerProvider of openTelemetry has to be a TracerProvider/],
    [{ system, meterProvider: 7 }, /meterProvider of openTelemetry has to be a MeterProvider .*; got 7/],
  ]
  for (const [options, message] of bad) {
    expect(() => openTelemetry(options as never)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
    )
  }
})
