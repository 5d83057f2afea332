import { sideOf } from '../sides/all-sides.ts'
import type { Side } from '../sides/side.ts'
import { openDataSet, type DataSet } from '../workload/data-set.ts'
import type { Ref } from '../workload/ids.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Answer, FillOrder, OpenOrder, Order, PrepareOrder, RunOrder, RunReport } from './orders.ts'
import { profiled } from './profile.ts'
import { runAtRate } from './run-at-rate.ts'
import { runCallers } from './run-callers.ts'

/** A client process: opens sides, makes their calls and reports times, as the parent process orders. */

const open = new Map<string, Side>()
let data: DataSet
let prepared: Ref[] | undefined
let stopping = new AbortController()

/** Entries per batch of a filling, and batches in flight. `looseleaf import` keeps two batches in flight as well. */
const BATCH = 500
const BATCHES = 2
/** Largest number of calls in flight in a run at a rate. */
const MAX_IN_FLIGHT = 1000

async function execute(order: Order): Promise<RunReport | undefined> {
  if (order.kind === 'open') await openAll(order)
  else if (order.kind === 'fill') return withProfile(order, () => fill(order))
  else if (order.kind === 'prepare') await prepare(order)
  else if (order.kind === 'run') return withProfile(order, () => run(order))
  else if (order.kind === 'settle') await sideNamed(order.side).settled()
  else stopping.abort()
  return undefined
}

async function withProfile(
  { profile }: RunOrder | FillOrder,
  work: () => Promise<RunReport>,
): Promise<RunReport> {
  if (profile !== true) return work()
  const { result, shares } = await profiled(work)
  return { ...result, shares }
}

async function openAll(order: OpenOrder): Promise<void> {
  data = openDataSet(order.data, order.process)
  for (const { name, databases } of order.sides)
    open.set(name, await sideOf(name).open(databases, order.data.layout))
}

function sideNamed(name: string): Side {
  const side = open.get(name)
  if (side === undefined) throw new Error(`The side ${name} is not open.`)
  return side
}

async function fill({ side: name, from, to }: FillOrder): Promise<RunReport> {
  const side = sideNamed(name)
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  const inFlight = new Set<Promise<void>>()
  for (let number = from; number < to; number += BATCH) {
    const count = Math.min(BATCH, to - number)
    const batch = side.fill(Array.from({ length: count }, (_, i) => data.entry(number + i)))
    inFlight.add(batch)
    void batch.then(
      () => inFlight.delete(batch),
      () => undefined,
    )
    if (inFlight.size >= BATCHES) await Promise.race(inFlight)
  }
  await Promise.all(inFlight)
  await side.settled()
  const seconds = (performance.now() - start) / 1000
  return { calls: to - from, seconds, times: new Float32Array(), ...spentSince(cpu) }
}

async function prepare({ side: name, scenario, calls }: PrepareOrder): Promise<void> {
  const side = sideNamed(name)
  prepared = await scenarioOf(scenario).prepare?.(side, data, calls)
  await side.settled()
}

async function run(order: RunOrder): Promise<RunReport> {
  const side = sideNamed(order.side)
  const scenario = scenarioOf(order.scenario)
  const refs = prepared ?? []
  const maxCalls = prepared?.length ?? Infinity
  prepared = undefined
  let before = process.cpuUsage()
  const onCounting = (): void => void (before = process.cpuUsage())
  // A side pays for the work that continues after its answers, but not for the time that it delays this work on purpose.
  const catchUp = (): Promise<void> => side.caughtUp?.() ?? side.settled()
  const call = async (): Promise<void> => void (await scenario.call(side, data, refs))
  const { around } = side
  const { rate, seconds, runIn = 0, callers } = order
  stopping = new AbortController()
  const ran =
    rate === undefined
      ? await runCallers(call, { callers, seconds, runIn, onCounting, maxCalls, around, catchUp })
      : await runAtRate(around === undefined ? call : () => around(call), {
          rate,
          seconds,
          runIn,
          onCounting,
          maxInFlight: MAX_IN_FLIGHT,
          signal: stopping.signal,
        })
  return { ...ran, ...spentSince(before) }
}

function spentSince(before: NodeJS.CpuUsage): Pick<RunReport, 'clientCpu' | 'memoryMiB'> {
  const { user, system } = process.cpuUsage(before)
  return { clientCpu: user + system, memoryMiB: process.resourceUsage().maxRSS / 1024 }
}

async function close(): Promise<void> {
  for (const side of open.values()) await side.close()
}

process.on('message', ({ number, order }: { number: number; order: Order }) => {
  const answer = (content: Answer): void => void process.send?.({ number, ...content })
  execute(order).then(
    (report) => answer(report === undefined ? {} : { report }),
    (error: unknown) =>
      answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
process.once('disconnect', () => void close().finally(() => process.exit()))
