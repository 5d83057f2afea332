import { lastStates, type EntityStates } from './entity-states.ts'
import { isDeletion } from './model.ts'
import type { GrowthRecord } from './records.ts'

interface Followed {
  readonly changes: number
  readonly gone: number
  readonly wrongs: readonly string[]
}

interface Last {
  readonly state: number | null
  readonly version: number
}

/**
 * Judges what one follower was given. From each beginning on, an entity comes in states that writers have sent, never in an older version
 * after a newer one. A follower that ends by itself has the last state of every entity.
 */
export function judgeChanges(
  records: readonly GrowthRecord[],
  entities: ReadonlyMap<number, EntityStates>,
): Followed {
  const wrongs: string[] = []
  let last = new Map<number, Last>()
  let [changes, gone, begun, isComplete] = [0, 0, false, false]
  for (const record of records) {
    if (record.kind === 'beginning') {
      begun = true
      if (record.gone) gone++
      last = new Map()
    } else if (record.kind === 'change') {
      changes++
      const { number, state, version } = record
      const known = last.get(number)
      if (known !== undefined && known.version > version)
        wrongs.push(
          `A follower was given ${number} in version ${version} (state ${state}) after ${known.version} (state ${known.state})`,
        )
      else last.set(number, { state, version })
      const write = state === null ? undefined : entities.get(number)?.writes[state]
      if (
        state !== null &&
        (write === undefined || write.outcome === 'refused' || write.outcome === 'failed')
      )
        wrongs.push(`A follower was given ${number} in state ${state}, which no write has made`)
    } else if (record.kind === 'ended') isComplete = true
  }
  if (!(begun || changes > 0) || !isComplete) return { changes, gone, wrongs }
  for (const [number, entity] of entities) {
    const states = lastStates(entity)
    const known = last.get(number)?.state
    const isAbsent = states.some((state) => state === -1 || isDeletion(number, state))
    const fits = known === undefined || known === null ? isAbsent : states.includes(known)
    if (!fits)
      wrongs.push(
        `A follower has ${number} in state ${known ?? 'none'} at the end; possible: ${states.join(', ')}`,
      )
  }
  return { changes, gone, wrongs }
}
