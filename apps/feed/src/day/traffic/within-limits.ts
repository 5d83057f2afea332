import type { Act } from '../script/timeline.ts'

const MINUTE = 60_000

/** Acts of a person in a minute, below the limits of forms. Forms that are sent again after a kill need the rest. */
const PER_MINUTE: Readonly<Record<Exclude<Act['kind'], 'item'>, number>> = { post: 6, comment: 12, like: 40 }

/** Gives each act that would be one too many in a minute to the next person who may still act. Leaves it out if there is none. */
export function withinLimits(acts: readonly Act[], people: number): readonly Act[] {
  const times = new Map<string, number[]>()
  return acts.flatMap((act): Act[] => {
    if (act.kind === 'item') return [act]
    for (let i = 0; i < people; i++) {
      const person = (act.person + i) % people
      const name = `${act.kind} ${person}`
      const recent = (times.get(name) ?? []).filter((at) => at > act.at - MINUTE)
      if (recent.length >= PER_MINUTE[act.kind]) continue
      times.set(name, [...recent, act.at])
      return [{ ...act, person }]
    }
    return []
  })
}
