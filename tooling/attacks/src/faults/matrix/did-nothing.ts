import type { ScenarioRun } from './run-scenario.ts'
import type { Facts, Scenario } from './scenario.ts'

/**
 * Returns what should have happened in a run and did not, in words. A run in which nothing happens would pass
 * whatever the store does.
 */
export function whatDidNotHappen(
  { needs, needsErrors = [], config }: Pick<Scenario, 'needs' | 'needsErrors' | 'config'>,
  { facts, counts, watch, promised }: Pick<ScenarioRun, 'facts' | 'counts' | 'watch' | 'promised'>,
): string[] {
  const own = needs ?? Object.keys(facts).slice(0, 1)
  const needed: Facts = {
    'acknowledged writes': counts.acknowledged,
    'rows looked for': watch.looks,
    'entities that queries had to find': counts.expectedInQueries,
    ...Object.fromEntries(own.map((name) => [name, facts[name] ?? 0])),
    ...Object.fromEntries(
      needsErrors.map((code) => [`caller that was told ${code}`, counts.errors[code] ?? 0]),
    ),
    ...(promised === 'unless pending' && {
      'writes without their index rows': counts.notIndexed,
      'queries that said that they are not complete': counts.incompleteQueries,
    }),
    ...(promised === 'in the end' && {
      'rows that came late': watch.excused + counts.lackedInQueries,
    }),
    ...((config?.writing?.deleteDelayMs ?? 0) > 0 && { 'rows of states that were replaced': watch.kept }),
  }
  return Object.entries(needed).flatMap(([name, count]) => (count > 0 ? [] : [`did nothing: no ${name}`]))
}
