import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { BadArgument, readNumber, readOptions } from './arguments.ts'
import { playDay, programNames, type DayOptions, type DayReport, type ProgramName } from './day.ts'
import type { ProgramPaths } from './start-site.ts'

const OPTIONS = [
  'users',
  'follows',
  'seconds',
  'people',
  'sources',
  'visits',
  'crawl-every',
  'kill',
  'stop-shard',
  'shards',
  'seed',
  'json',
] as const

/** Plays a day by the arguments of the command line. Returns the exit status: 0, or 1 if entries or requests were lost. */
export async function runDay(
  args: readonly string[],
  programs: ProgramPaths,
  print: (line: string) => void,
): Promise<number> {
  const values = readOptions(args, OPTIONS)
  const report = await playDay({ ...readDay(values), programs, onStep: (step) => print(step) })
  await writeJson(values.json, report)
  for (const line of describeDay(report)) print(line)
  return isGoodDay(report) ? 0 : 1
}

/** Writes a report as JSON into a file, relative to the folder of the user. */
export async function writeJson(file: string | undefined, report: object): Promise<void> {
  // pnpm runs scripts in the folder of the package.
  if (file !== undefined)
    await writeFile(resolve(process.env['INIT_CWD'] ?? '', file), `${JSON.stringify(report, null, 2)}\n`)
}

function readDay(
  values: Partial<Record<(typeof OPTIONS)[number], string>>,
): Omit<DayOptions, 'programs' | 'onStep'> {
  const number = (name: (typeof OPTIONS)[number], by: number, min: number, max: number): number =>
    readNumber(name, values[name], { by, min, max })
  const people = number('people', 40, 1, 1_000)
  const sources = number('sources', 60, 1, 1_000)
  return {
    people,
    sources,
    readers: number('users', 5_000, 1, 100_000),
    follows: number('follows', 40, 1, people + sources),
    seconds: number('seconds', 300, 2, 86_400),
    visits: readNumber('visits', values.visits, { by: 5, min: 0.1, max: 1_000, isWhole: false }),
    crawlEvery: number('crawl-every', 5, 1, 3_600),
    seed: number('seed', 1, 0, 2 ** 32 - 1),
    rates: { item: 1, post: 0.5, comment: 1, like: 2 },
    kill: readNames(values.kill),
    stopShard: values['stop-shard'] === undefined ? undefined : number('stop-shard', 0, 0, 1_000),
    shards: values.shards,
  }
}

function readNames(text: string | undefined): readonly ProgramName[] {
  const names = (text ?? '').split(',').filter(Boolean)
  return names.map((name) => {
    const known = programNames.find((each) => each === name)
    if (known === undefined)
      throw new BadArgument(`--kill is a list of ${programNames.join(', ')}; got “${name.slice(0, 20)}”.`)
    return known
  })
}

/** Returns true if nothing was lost, doubled or refused. */
export function isGoodDay({ missing, double, failed, miscounted, behind, status5xx }: DayReport): boolean {
  return missing + double + failed + miscounted + behind + status5xx === 0
}

/** Describes a day in a few lines. */
function describeDay(report: DayReport): readonly string[] {
  const { entries, posts, comments, likes, expected, delivered, missing, double, kills } = report
  const { failed, repeated, visits, homesCompared, pulledChannels, trimmed } = report
  return [
    `${entries} entries (${posts} messages), ${comments} comments, ${likes} likes and ${visits} visits in ${report.seconds} seconds; ${kills} kills; load ${report.load}.`,
    `Expected ${expected}, delivered ${delivered}: ${missing} missing, ${double} double, ${trimmed} trimmed. ${homesCompared} homes were compared with the ${pulledChannels} channels that are read at each visit.`,
    `${failed} requests failed; ${repeated} were repeated while the site was down; ${report.miscounted} entries are miscounted.`,
    `Visible: P50 ${report.visibleP50} ms, P95 ${report.visibleP95} ms. Home: P50 ${report.homeP50} ms, P95 ${report.homeP95} ms.`,
    `Pages with status 5xx: ${report.status5xx}; partial pages: ${report.partial}. Forms that were refused meanwhile: ${report.refusedForms} about things on the stopped shard, and ${report.refusedSenders} of people whose account is there.`,
    ...report.failures.map((failure) => `Failure: ${failure}`),
  ]
}
