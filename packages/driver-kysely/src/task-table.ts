import { isLooseleafError, type CallOptions, type TaskState, type TaskTable } from '@looseleaf/core'
import { sql } from 'kysely'
import type { Flavor } from './flavor.ts'
import { toCount, toNumber, toText } from './row-values.ts'
import { TASK_TABLE } from './schema.ts'
import type { Call, FaultCodes, Session } from './session.ts'
import { slot } from './sql-parts.ts'

const tasks = sql.table(TASK_TABLE)

const faults: FaultCodes = {
  duplicate: ['ALREADY_EXISTS', 'the task is there already.'],
  'no-table': ['NOT_MIGRATED', 'the task table is missing; create the tables first.'],
}

/** Leases are kept in µs since 1970 by the database's clock, so that the clocks of its clients do not matter. */
export function createTaskTable(session: Session, flavor: Flavor): TaskTable {
  const now = flavor.nowMicros

  const load = sql`
    SELECT progress, owner, lease_until > ${now} AS held FROM ${tasks} WHERE name = ${slot}`
  const take = sql`
    UPDATE ${tasks} SET owner = ${slot}, lease_until = ${now} + ${slot}
    WHERE name = ${slot} AND (owner = ${slot} OR owner IS NULL OR lease_until <= ${now})`
  const create = sql`
    INSERT INTO ${tasks} (name, progress, owner, lease_until)
    VALUES (${slot}, '', ${slot}, ${now} + ${slot})`
  const save = sql`
    UPDATE ${tasks} SET progress = ${slot}, owner = ${slot}, lease_until = ${now} + ${slot}
    WHERE name = ${slot} AND owner = ${slot}`

  const callOf = (options: CallOptions | undefined, write: boolean): Call => ({
    write,
    signal: options?.signal,
    faults,
  })

  async function loadTask(name: string, options: CallOptions | undefined): Promise<TaskState | undefined> {
    const { rows } = await session.run(
      session.shape('task load', () => load),
      [name],
      callOf(options, false),
    )
    const row = rows[0]
    if (row === undefined) return undefined
    const held = row.owner !== null && toNumber(row.held) === 1
    return { progress: toText(row.progress), owner: held ? toText(row.owner) : undefined }
  }

  /** True where the row was not there and is now. */
  async function createTask(
    name: string,
    owner: string,
    micros: number,
    options: CallOptions | undefined,
  ): Promise<boolean> {
    try {
      await session.run(
        session.shape('task create', () => create),
        [name, owner, micros],
        callOf(options, true),
      )
      return true
    } catch (error) {
      if (isLooseleafError(error, 'ALREADY_EXISTS')) return false
      throw error
    }
  }

  return {
    load: loadTask,

    async claim(name, owner, leaseMs, options) {
      const micros = leaseMs * 1000
      const taken = await session.run(
        session.shape('task take', () => take),
        [owner, micros, name, owner],
        callOf(options, true),
      )
      if (toCount(taken.numAffectedRows) === 0 && !(await createTask(name, owner, micros, options))) {
        return undefined
      }
      const state = await loadTask(name, options)
      return state === undefined ? undefined : { progress: state.progress, owner }
    },

    async save(name, owner, progress, leaseMs, options) {
      const saved = await session.run(
        session.shape('task save', () => save),
        [progress, leaseMs === 0 ? null : owner, leaseMs * 1000, name, owner],
        callOf(options, true),
      )
      return toCount(saved.numAffectedRows) === 1
    },
  }
}
