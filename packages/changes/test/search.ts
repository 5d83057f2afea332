import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { expect, vi } from 'vitest'
import { consume, type Consumer } from '../src/consumer/consume.ts'
import type { ConsumeOptions } from '../src/consumer/consume-options.ts'
import type { Handler } from '../src/consumer/row-handler.ts'

export const SHARDS = 2

/** Shards in memory and consumers named `search`. */
export class Search {
  /** Faults from now on. */
  plan: FaultPlan = () => undefined
  /** Consumers that `end` stops. */
  consumers: Consumer[] = []
  readonly memory: Driver

  private constructor(memory: Driver) {
    this.memory = memory
  }

  static async begin(): Promise<Search> {
    return new Search(await memoryShards(SHARDS).connect())
  }

  /** Opens another store over the same shards, like another process. */
  openStore(): Promise<DataStore> {
    const driver = faultyDriver(this.memory, (call) => this.plan(call))
    return DataStore.open({ shards: keepOpen(driver), migrate: true })
  }

  start(store: DataStore, handler: Handler, options: ConsumeOptions): Consumer {
    const consumer = consume(store, 'search', handler, {
      from: 'beginning',
      pollMs: 10,
      retryMs: 5,
      ...options,
    })
    this.consumers.push(consumer)
    return consumer
  }

  async end(store: DataStore): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop()))
    await store.close()
    await this.memory.close()
  }
}

/** The fault of a shard that does not answer. */
export const gone: Fault = {
  before() {
    throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: 'memory 1' })
  },
}

export const until = (condition: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 60_000, interval: 10 })
