import { Command, InvalidArgumentError, Option } from 'commander'
import { partNames, type PartName } from './parts/part-names.ts'
import { scales, type Scale } from './scale.ts'
import { sideNames, type SideName } from './sides/side-names.ts'
import { scenarioNames, type ScenarioName } from './workload/scenarios.ts'

export interface Options {
  readonly scale: Scale
  readonly parts: readonly PartName[]
  readonly sides: readonly SideName[]
  readonly scenarios: readonly ScenarioName[]
  readonly bag: number | undefined
  readonly mysql: readonly string[]
  /** The folder of the results. */
  readonly out: string | undefined
}

interface Given {
  readonly quick?: true
  readonly full?: true
  readonly tiny?: true
  readonly only: readonly PartName[]
  readonly sides: readonly SideName[]
  readonly scenarios: readonly ScenarioName[]
  readonly rounds?: number
  readonly seconds?: number
  readonly entries?: number
  readonly callers?: readonly number[]
  readonly shards?: number
  readonly growth?: readonly number[]
  readonly bag?: number
  readonly mysql?: readonly string[]
  readonly out?: string
}

export function parseOptions(argv: readonly string[]): Options {
  const command = new Command('pnpm bench')
    .description('Measures Looseleaf side by side with other ways to store the same data.')
    .option(
      '--quick',
      'every part in less than five minutes; checks that all works, its numbers mean nothing',
    )
    .option('--full', 'the published run; about an hour on two cores (default)')
    .addOption(new Option('--tiny', 'as little as possible, for tests').hideHelp())
    .addOption(
      listOption('--only <parts>', 'measure these parts, and keep earlier results of the others', partNames),
    )
    .addOption(listOption('--sides <sides>', 'measure only these sides', sideNames))
    .addOption(
      listOption('--scenarios <scenarios>', 'measure only these scenarios of each part', scenarioNames),
    )
    .option('--rounds <number>', 'rounds of each measurement; results are medians over rounds', wholeNumber)
    .option('--seconds <number>', 'seconds of each side in a round', positiveNumber)
    .option('--entries <number>', 'entries that are stored before measuring', wholeNumber)
    .option('--callers <numbers>', 'callers of the part `callers`, such as 8,256', numbers)
    .option('--shards <number>', 'number of servers, or of SQLite files', wholeNumber)
    .option('--growth <numbers>', 'entities of the part `entities`, such as 10000,10000000', numbers)
    .option('--bag <bytes>', 'approximate size of a bag (default: that of a feed site)', wholeNumber)
    .option(
      '--mysql <urls>',
      'servers to use instead of starting private ones: mysql://user:password@host:port,…',
      (text) => text.split(',').map(serverUrl),
    )
    .option('--out <folder>', 'folder of the results (default: results/ of this package)')
  command.parse(argv, { from: 'user' })
  const given = command.opts<Given>()
  const scale = scales[given.tiny ? 'tiny' : given.quick ? 'quick' : 'full']
  const shards = given.mysql?.length ?? given.shards
  const { rounds, seconds, entries, callers, growth } = given
  // The benchmark starts no servers beside given ones, so shards cannot grow beyond their number.
  const growthShards = given.mysql && scale.growthShards.filter((count) => count <= (shards ?? 0))
  const changed = { growthShards, rounds, otherRounds: rounds, seconds, entries, callers, growth, shards }
  return {
    scale: {
      ...scale,
      ...Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)),
    },
    parts: given.only,
    sides: given.sides,
    scenarios: given.scenarios,
    bag: given.bag,
    mysql: given.mysql ?? [],
    out: given.out,
  }
}

function listOption<T extends string>(flags: string, description: string, all: readonly T[]): Option {
  return new Option(flags, `${description}: ${all.join(',')}`).default([...all], 'all').argParser((text) => {
    const names = text.split(',')
    const unknown = names.find((name) => !(all as readonly string[]).includes(name))
    if (unknown !== undefined) throw new InvalidArgumentError(`Choose from ${all.join(', ')}.`)
    return names
  })
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It has to be a whole number from 1.')
  return value
}

const numbers = (text: string): number[] => text.split(',').map(wholeNumber)

function positiveNumber(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('It has to be a number above 0.')
  return value
}

function serverUrl(text: string): string {
  if (URL.parse(text)?.protocol !== 'mysql:') {
    throw new InvalidArgumentError(
      'Servers are given as mysql://user:password@host:port, separated by commas.',
    )
  }
  return text
}
