import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { mysqlShards, type MysqlShardsOptions } from '@looseleaf/driver-mysql'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { through } from '@looseleaf-tooling/kit/changed-driver'

export interface OpenOptions extends Partial<Omit<DataStoreOptions, 'shards'>> {
  readonly connections?: MysqlShardsOptions | undefined
  /** Changes its driver. */
  readonly change?: ((driver: Driver) => Driver) | undefined
  /** Offset of its clock. */
  readonly clockOffsetMs?: number | undefined
  /** Tells whether to retry after this error. Default: never. */
  readonly again?: ((error: unknown) => boolean) | undefined
}

const AGAIN_MS = 50

/** Opens a store on these servers, without warnings. */
export async function openStore(
  servers: Parameters<typeof mysqlShards>[0],
  options: OpenOptions = {},
): Promise<DataStore> {
  const { connections, change, clockOffsetMs = 0, again, ...rest } = options
  const shards = mysqlShards(servers, connections)
  for (;;) {
    try {
      return await DataStore.open({
        shards: change === undefined ? shards : through(shards, change),
        time: { ...systemTime, now: () => Date.now() + clockOffsetMs },
        onWarning: () => undefined,
        ...rest,
      })
    } catch (error) {
      if (again?.(error) !== true) throw error
      await sleep(AGAIN_MS)
    }
  }
}
