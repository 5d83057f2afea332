import type { ChosenRun, ChosenTests } from './choose-tests.ts'
import type { Host } from './host.ts'
import type { Answer, Question } from './host-protocol.ts'
import { mutate, type Mutant } from './mutant.ts'
import type { MutantResult } from './outcomes.ts'
import { readSource } from './targets.ts'

/** Reliability of tests, as learnt in this run. */
export interface Trust {
  /** Ids of tests that pass alone, so that their failures are due to mutants. */
  readonly fit: Set<string>
  readonly unfit: Set<string>
}

interface Failure {
  readonly file: string
  /** Undefined for a failure outside of any test. */
  readonly id: string | undefined
  readonly test: string
  readonly isTimeout: boolean
}

/** Runs the tests that can notice a mutant until one fails. `choose` leaves out unfit tests. */
export async function tryMutant(
  mutant: Mutant,
  choose: () => ChosenTests,
  host: Host,
  trust: Trust,
): Promise<MutantResult> {
  const startedAt = performance.now()
  const found = (fate: MutantResult['fate'], failure?: Failure): MutantResult => ({
    fate,
    by: failure && { file: failure.file, test: failure.test },
    ms: Math.round(performance.now() - startedAt),
  })
  const texts = { [mutant.file]: mutate(readSource(mutant.file), mutant) }
  const tried = new Set<string>()
  let patience = 1
  for (;;) {
    const { runs, count } = choose()
    if (count === 0) return found('not reached')
    const run = runs.find(({ file }) => !tried.has(file))
    if (run === undefined) return found('survived')
    const testTimeout = patience * limitFor(run)
    const answer = await ask(host, { texts, runs: [run], bail: true, testTimeout })
    if (answer === 'hung') return found('hung')
    const failure = failureIn(answer)
    if (failure === undefined) {
      checkAllRan(answer, run)
      tried.add(run.file)
      continue
    }
    if (failure.id === undefined) return found('killed', failure)
    const alone = { runs: [{ file: failure.file, tests: [failure.id] }], bail: true }
    if (!trust.fit.has(failure.id)) {
      const without = await ask(host, { ...alone, texts: {}, testTimeout: 2 * testTimeout })
      const isFit = without !== 'hung' && failureIn(without) === undefined
      ;(isFit ? trust.fit : trust.unfit).add(failure.id)
      if (!isFit) continue
    }
    if (!failure.isTimeout) return found('killed', failure)
    // A slow test may be due to a busy machine, or to the mutant. Try it once more with twice the time.
    const again = await ask(host, { ...alone, texts, testTimeout: 2 * testTimeout })
    if (again === 'hung' || failureIn(again) !== undefined) return found('hung', failure)
    patience *= 2
  }
}

/** Time in milliseconds after which a test with a mutant counts as hanging. */
function limitFor({ longestMs }: ChosenRun): number {
  return 3_000 + 5 * Math.round(longestMs)
}

function ask(host: Host, question: Question): Promise<Answer | 'hung'> {
  return host.ask(question, 10_000 + (question.testTimeout ?? 0))
}

function failureIn({ modules, errors }: Answer): Failure | undefined {
  for (const { file, tests, errors: own } of modules) {
    const failed = tests.find((test) => test.failed !== undefined)
    if (failed !== undefined) {
      const isTimeout = /^(?:Test|Hook) timed out in/.test(failed.failed ?? '')
      return { file, id: failed.id, test: failed.name, isTimeout }
    }
    if (own.length > 0) return { file, id: undefined, test: '(the file as a whole)', isTimeout: false }
  }
  const last = modules.at(-1)
  if (errors.length === 0 || last === undefined) return undefined
  return { file: last.file, id: undefined, test: '(an error that no test had caught)', isTimeout: false }
}

/** A test that was not found would count as one that passed. */
function checkAllRan({ modules }: Answer, { file, tests: chosen }: ChosenRun): void {
  const ran = modules.reduce((sum, { tests }) => sum + tests.length, 0)
  if (ran < chosen.length) throw new Error(`${file}: only ${ran} of ${chosen.length} tests ran.`)
}
