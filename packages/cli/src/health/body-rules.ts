import { brokenText } from '@looseleaf/store'
import { durationText } from '../duration-text.ts'
import { counted } from '../text.ts'
import { indexesOf, lastRunOf, type Facts, type Rule } from './facts.ts'

/** Definitions that are named. */
const MAX_NAMED = 5

/** Bodies that were looked at and cannot be decoded, for reasons of their own. */
function lookedText({ bodies }: Facts): string | undefined {
  if (bodies === undefined || bodies.undecodable === 0) return undefined
  return `${bodies.undecodable} of the ${bodies.bodies} bodies that were looked at cannot be decoded; of one: ${bodies.why}`
}

/** Entities that the last run of an index could not decode, or the one under way. */
function sweptText(facts: Facts): string | undefined {
  const counts = indexesOf(facts).flatMap((index) => [
    lastRunOf(index)?.undecodable ?? 0,
    index.underWay?.undecodable ?? 0,
  ])
  const most = Math.max(0, ...counts)
  return most === 0 ? undefined : `${counted(most, 'entity', 'entities')} could not be decoded by a cleaning`
}

/** What a cleaner has met since, until a cleaning that ended later has met nothing of the kind. */
function metText({ now, report }: Facts): string | undefined {
  const { lastUndecodableAt: met, indexes = [] } = report ?? {}
  if (met === undefined || indexes.some(({ lastRun }) => lastRun && lastRun.finishedAt > met))
    return undefined
  return `a cleaner has met an entity that it could not decode, ${durationText(now - met.getTime())} ago`
}

export const damagedRule: Rule = {
  name: 'damaged',
  grade: 'act',
  see: 'A damaged body',
  find: (facts) => {
    const what = [lookedText(facts), sweptText(facts), metText(facts)].find((text) => text !== undefined)
    return what === undefined
      ? []
      : [{ about: undefined, what, todo: 'they are listed by: looseleaf damaged' }]
  },
}

export const definitionsRule: Rule = {
  name: 'definitions',
  grade: 'act',
  see: 'A lost definition',
  find({ bodies: look }) {
    if (look === undefined) return []
    const named = look.broken.slice(0, MAX_NAMED).map((one) => brokenText(one, look))
    const more = look.broken.length - named.length
    if (more === 0) return named
    const rest = {
      about: undefined,
      what: `${counted(more, 'more shape or dictionary is', 'more shapes or dictionaries are')} lost or damaged`,
      todo: 'all are listed by: looseleaf codec show',
    }
    return [...named, rest]
  },
}
