import { Command, InvalidArgumentError, Option } from 'commander'
import { backendNames, type BackendName } from './backends/backend.ts'
import type { BenchOptions } from './bench.ts'
import { scenarioNames } from './workload/scenarios.ts'

export interface Options extends BenchOptions {
  readonly on: readonly BackendName[]
  /** True when `on` was asked for by name. */
  readonly onGiven: boolean
  readonly mysql: readonly string[]
  readonly shards: number
  readonly pool: number
  readonly json: string | undefined
}

/** What `--quick` changes: enough to see that all works, too little to believe. */
const quick = { rounds: 3, seconds: 0.3, entries: 2_000, users: 50 }

export function parseOptions(argv: readonly string[]): Options {
  const command = new Command('pnpm bench')
    .description('Holds Looseleaf against hand-written SQL on the same tables.')
    .addOption(listOption('--on <databases>', 'where to measure', backendNames))
    .addOption(listOption('--only <scenarios>', 'what to measure', scenarioNames))
    .option(
      '--callers <numbers>',
      'callers at once, such as 1,64',
      (text) => text.split(',').map(wholeNumber),
      [64, 1],
    )
    .option('--rounds <number>', 'rounds of each measurement; medians are over these', wholeNumber, 7)
    .option('--seconds <number>', 'seconds of each side in a round', positiveNumber, 1)
    .option('--entries <number>', 'entries that are there before', wholeNumber, 20_000)
    .option('--users <number>', 'users who have them', wholeNumber, 500)
    .option('--shards <number>', 'SQLite files, and servers to start', wholeNumber, 2)
    .option('--pool <number>', 'connections to each shard of the hand-written side', wholeNumber, 32)
    .option('--seed <number>', 'another seed makes other data', wholeNumber, 1)
    .option(
      '--mysql <urls>',
      'servers to use instead of starting some: mysql://user:password@host:port,…',
      (text) => text.split(',').map(serverUrl),
    )
    .option('--json <file>', 'where the results go (default: a new file in results/)')
    .option('--quick', `a few seconds in all: ${JSON.stringify(quick)}`)
  command.parse(argv, { from: 'user' })
  const given = command.opts<Omit<Options, 'onGiven'> & { readonly quick?: boolean }>()
  const shortened = given.quick === true ? quick : {}
  const explicit = Object.fromEntries(
    Object.entries(given).filter(([name]) => command.getOptionValueSource(name) === 'cli'),
  )
  const options: Options = {
    ...given,
    ...shortened,
    ...explicit,
    mysql: given.mysql ?? [],
    json: given.json,
    onGiven: command.getOptionValueSource('on') === 'cli' || given.mysql !== undefined,
  }
  if (options.entries / options.users < MIN_ENTRIES_PER_USER) {
    command.error(`error: there have to be ${MIN_ENTRIES_PER_USER} entries or more for each user`)
  }
  return options
}

/** A page of the query is full then. */
const MIN_ENTRIES_PER_USER = 20

function listOption<T extends string>(flags: string, description: string, all: readonly T[]): Option {
  return new Option(flags, `${description}: ${all.join(',')}`).default([...all], 'all').argParser((text) => {
    const names = text.split(',')
    const unknown = names.find((name) => !(all as readonly string[]).includes(name))
    if (unknown !== undefined) throw new InvalidArgumentError(`There are ${all.join(', ')}.`)
    return names
  })
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It has to be a whole number from 1.')
  return value
}

function serverUrl(text: string): string {
  if (URL.parse(text)?.protocol !== 'mysql:') {
    throw new InvalidArgumentError(
      'Servers are given as mysql://user:password@host:port, with a comma between several.',
    )
  }
  return text
}

function positiveNumber(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('It has to be a number above 0.')
  return value
}
