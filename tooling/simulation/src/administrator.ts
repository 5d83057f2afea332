import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/random'
import { byGroupAndRank, byGroupAndRankElsewhere, bySeat } from './indexes.ts'
import type { Life } from './life.ts'

export interface AdministratorOptions {
  readonly store: DataStore
  readonly life: Life
  readonly time: Time
  readonly random: Random
  /** How many things to do. */
  readonly changes: number
  /** Whether one that is unique is among them. */
  readonly hasKeys: boolean
}

/** Somebody who adds, drops and redefines an index while everybody uses it; what fails is tried again a few times. */
export async function runAdministrator(options: AdministratorOptions): Promise<void> {
  const { store, random, changes, hasKeys } = options
  const definitions = [byGroupAndRank, byGroupAndRankElsewhere, ...(hasKeys ? [bySeat, bySeat] : [])]
  for (let n = 0; n < changes; n++) {
    const definition = random.pick(definitions)
    const isAdded = n === 0 || random.chance(0.5)
    await retry(options, async () => {
      if (isAdded) await store.addIndex(definition)
      else await store.dropIndex(random.chance(0.5) ? definition.name : definition)
    })
  }
}

const MAX_TRIES = 5

async function retry({ life, time }: AdministratorOptions, work: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isLooseleafError(error) || !life.alive) throw error
      await time.sleep(10)
    }
  }
}
