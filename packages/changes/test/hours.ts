import { LooseleafError, type Driver, type Time } from '@looseleaf/core'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { consume, type Consumer } from '../src/consumer/consume.ts'
import type { ConsumeOptions } from '../src/consumer/consume-options.ts'
import type { Handler } from '../src/consumer/row-handler.ts'
import { SHARDS } from './search.ts'

const START = 1_700_000_000_000

interface Sleeper {
  readonly due: number
  readonly process: Process
  wake(): void
}

/** A process with a store, which may be paused. */
export class Process {
  store!: DataStore
  readonly consumers: Consumer[] = []
  /** Error of the process's clock in milliseconds. */
  offMs = 0
  #running: Promise<void> | undefined
  #resume = (): void => {}
  readonly time: Time

  constructor(hours: Hours) {
    this.time = {
      now: () => START + hours.clock + this.offMs,
      elapsed: () => hours.clock,
      sleep: (ms, signal) => hours.sleep(this, ms, signal),
    }
  }

  /** Resolves when the process resumes; undefined while it is not paused. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Pauses the process: its timers stand still, and its calls are neither sent nor answered. */
  pause(): void {
    this.#running = new Promise((resolve) => (this.#resume = resolve))
  }

  resume(): void {
    this.#running = undefined
    this.#resume()
  }

  consume(handler: Handler, options: ConsumeOptions = {}): Consumer {
    const consumer = consume(this.store, 'search', handler, { from: 'beginning', ...options })
    this.consumers.push(consumer)
    return consumer
  }
}

/** Servers in memory and processes on a simulated clock, which advances only by `pass`. */
export class Hours {
  /** Milliseconds since the start. */
  clock = 0
  /** Error of each server's clock in milliseconds. */
  readonly serverOffMs: number[] = Array.from({ length: SHARDS }, () => 0)
  /** Faults of all processes, from now on. */
  plan: FaultPlan = () => undefined
  readonly servers: ReferenceDriver = createReferenceDriver({
    shards: SHARDS,
    now: (shard) => (START + this.clock + this.serverOffMs[shard]!) * 1_000,
  })
  readonly #processes: Process[] = []
  #sleepers: Sleeper[] = []

  async start(
    options: Pick<DataStoreOptions, 'indexes' | 'codec' | 'observer' | 'onWarning'> = {},
  ): Promise<Process> {
    const process = new Process(this)
    const driver: Driver = faultyDriver(this.servers, (call) => {
      const { running } = process
      return running === undefined ? this.plan(call) : { before: () => running }
    })
    const { time } = process
    process.store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time, ...options })
    this.#processes.push(process)
    return process
  }

  sleep(process: Process, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new LooseleafError('ABORTED', 'It was ended.'))
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        reject(new LooseleafError('ABORTED', 'It was ended.'))
      }
      const wake = (): void => {
        // A signal of hours would keep thousands of listeners, and looks at each when another one is added.
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      const sleeper = { due: this.clock + ms, process, wake }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Advances the clock, and wakes each sleeper at its time. */
  async pass(ms: number): Promise<void> {
    const end = this.clock + ms
    for (;;) {
      await settle()
      let next: Sleeper | undefined
      for (const sleeper of this.#sleepers)
        if (sleeper.process.running === undefined && (next === undefined || sleeper.due < next.due))
          next = sleeper
      if (next === undefined || next.due > end) break
      const woken = next
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== woken)
      this.clock = Math.max(this.clock, woken.due)
      woken.wake()
    }
    this.clock = end
  }

  async end(): Promise<void> {
    this.plan = () => undefined
    for (const process of this.#processes) process.resume()
    const ended = Promise.all(
      this.#processes.map(async ({ consumers, store }) => {
        await Promise.all(consumers.map((consumer) => consumer.stop()))
        await store.close()
      }),
    )
    await this.pass(600_000)
    await ended
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await new Promise((resolve) => setImmediate(resolve))
}
