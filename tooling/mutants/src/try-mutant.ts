import { readFileSync } from 'node:fs'
import { chooseTests, type ChosenTests } from './choose-tests.ts'
import type { Host } from './host.ts'
import type { Answer, Question, TestRun } from './host-protocol.ts'
import { mutate, type Mutant } from './mutant.ts'
import type { Outcome, Outcomes } from './outcomes.ts'
import { ROOT } from './targets.ts'
import type { TestMap } from './test-map.ts'

/** What the tests of a run have shown of themselves. */
export interface Trust {
  /** Ids of tests that pass alone, so that a failure of one is due to the mutant. */
  readonly fit: Set<string>
  readonly unfit: Set<string>
}

interface Failure {
  readonly file: string
  /** Undefined for what failed outside of any test. */
  readonly id: string | undefined
  readonly name: string
  readonly isTimeout: boolean
}

/** Runs the tests that can notice a mutant until one does. */
export async function tryMutant(
  mutant: Mutant,
  map: TestMap,
  outcomes: Outcomes,
  host: Host,
  trust: Trust,
): Promise<Pick<Outcome, 'fate' | 'by' | 'ms'>> {
  const startedAt = performance.now()
  const outcome = (fate: Outcome['fate'], failure?: Failure): Pick<Outcome, 'fate' | 'by' | 'ms'> => ({
    fate,
    by: failure && `${failure.file} > ${failure.name}`,
    ms: Math.round(performance.now() - startedAt),
  })
  const source = readFileSync(ROOT + mutant.file, 'utf8')
  const texts = { [mutant.file]: mutate(source, mutant) }
  for (;;) {
    const chosen = chooseTests(map, mutant, outcomes.lastKiller(mutant), trust.unfit)
    if (chosen.count === 0) return outcome('not reached')
    const limit = limitFor(chosen)
    const answer = await ask(host, { texts, runs: chosen.runs, bail: true, testTimeout: limit })
    if (answer === 'hung') return outcome('hung')
    const failure = failureIn(answer)
    if (failure === undefined) {
      checkAllRan(answer, chosen)
      return outcome('survived')
    }
    if (failure.id === undefined) return outcome('killed', failure)
    const alone: TestRun[] = [{ file: failure.file, tests: [failure.id] }]
    if (!trust.fit.has(failure.id)) {
      const without = await ask(host, { texts: {}, runs: alone, bail: true, testTimeout: 2 * limit })
      if (without === 'hung' || failureIn(without) !== undefined) {
        trust.unfit.add(failure.id)
        continue
      }
      trust.fit.add(failure.id)
    }
    if (!failure.isTimeout) return outcome('killed', failure)
    // The machine may just have been busy.
    const again = await ask(host, { texts, runs: alone, bail: true, testTimeout: 2 * limit })
    if (again === 'hung' || failureIn(again) !== undefined) return outcome('hung', failure)
  }
}

/** So long a test may take, with a mutant in, before it counts as one that does not end. */
function limitFor({ longestMs }: ChosenTests): number {
  return 5_000 + 10 * Math.round(longestMs)
}

function ask(host: Host, question: Question): Promise<Answer | 'hung'> {
  return host.ask(question, 15_000 + (question.testTimeout ?? 0))
}

function failureIn({ modules, errors }: Answer): Failure | undefined {
  for (const { file, tests, errors: own } of modules) {
    const failed = tests.find((test) => test.failed !== undefined)
    if (failed !== undefined) {
      const isTimeout = /^(?:Test|Hook) timed out in/.test(failed.failed ?? '')
      return { file, id: failed.id, name: failed.name, isTimeout }
    }
    if (own.length > 0) return { file, id: undefined, name: '(the whole file)', isTimeout: false }
  }
  const [module] = modules
  if (errors.length === 0 || module === undefined) return undefined
  return { file: module.file, id: undefined, name: '(an error outside of any test)', isTimeout: false }
}

/** A test that is not found would pass for one that has not noticed. */
function checkAllRan({ modules }: Answer, chosen: ChosenTests): void {
  const ran = modules.reduce((sum, { tests }) => sum + tests.length, 0)
  if (ran < chosen.count) throw new Error(`Of ${chosen.count} tests only ${ran} were run.`)
}
