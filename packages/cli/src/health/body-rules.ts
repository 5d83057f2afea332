import { counted, durationText } from '@looseleaf/core/internal'
import { brokenText } from '@looseleaf/store/internal'
import { indexesOf, type Facts, type Rule } from './facts.ts'

/** Number of shapes and dictionaries that get a finding of their own. */
const MAX_NAMED = 5

/** Describes sampled bodies that cannot be decoded for another reason than a missing shape or dictionary. */
function sampleText({ bodies }: Facts): string | undefined {
  if (bodies === undefined || bodies.undecodable === 0) return undefined
  return `${bodies.undecodable} of the ${bodies.bodies} bodies that were sampled cannot be decoded; the error of one: ${bodies.why}`
}

/** Describes entities that a cleaning, the last one or one in progress, could not decode. */
function cleaningText(facts: Facts): string | undefined {
  const counts = indexesOf(facts).flatMap((index) => [
    index.lastRun?.tally.undecodable ?? 0,
    index.inProgress?.undecodable ?? 0,
  ])
  const most = Math.max(0, ...counts)
  return most === 0 ? undefined : `${counted(most, 'entity', 'entities')} could not be decoded by a cleaning`
}

/** Describes an undecodable entity that a cleaner read after the last cleaning. A later cleaning without one clears it. */
function cleanerText({ now, report }: Facts): string | undefined {
  const { lastUndecodableAt: readAt, indexes = [] } = report ?? {}
  if (readAt === undefined || indexes.some(({ lastRun }) => lastRun && lastRun.finishedAt > readAt))
    return undefined
  return `a cleaner has met an entity that it could not decode, ${durationText(now - readAt.getTime())} ago`
}

export const damagedRule: Rule = {
  name: 'damaged',
  grade: 'act',
  see: 'A damaged body',
  find: (facts) => {
    const problem = [sampleText(facts), cleaningText(facts), cleanerText(facts)].find(
      (text) => text !== undefined,
    )
    return problem === undefined
      ? []
      : [{ about: undefined, problem, instruction: 'list them with: looseleaf damaged' }]
  },
}

export const codecEntriesRule: Rule = {
  name: 'codec entries',
  grade: 'act',
  see: 'A lost codec entry',
  find({ bodies: look }) {
    if (look === undefined) return []
    const named = look.broken.slice(0, MAX_NAMED).map((entry) => brokenText(entry, look))
    const more = look.broken.length - named.length
    if (more === 0) return named
    const rest = {
      about: undefined,
      problem: `${counted(more, 'more shape or dictionary is', 'more shapes or dictionaries are')} lost or damaged`,
      instruction: 'list all with: looseleaf codec show',
    }
    return [...named, rest]
  },
}
