import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findServer, howToInstall } from '@looseleaf-tooling/mariadb'
import { machineFacts } from '../report/machine-facts.ts'
import { runLiveIndex } from './run-live-index.ts'
import { formatLiveIndex } from './format-live-index.ts'

const usage = `Usage: pnpm bench:live-index [--posts 1000000] [--rate 200] [--seconds 60] [--twins 100] [--json file]
Adds three indexes to a store under a steady load, kills the filling process twice, and compares every row at the end. Then runs
ALTER TABLE on a JSON column with the same data. Starts two private MariaDB servers.`

const { values } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== '--'),
  options: {
    posts: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    twins: { type: 'string', default: '100' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

function wholeNumber(option: 'posts' | 'rate' | 'seconds' | 'twins'): number {
  const number = Number(values[option])
  if (Number.isInteger(number) && number > 0) return number
  throw new RangeError(`--${option} has to be a whole number from 1; got ${values[option]}.`)
}

if (values.help) console.log(usage)
else if (findServer() === undefined) {
  console.error(howToInstall)
  process.exitCode = 1
} else {
  const settings = {
    posts: wholeNumber('posts'),
    rate: wholeNumber('rate'),
    seconds: wholeNumber('seconds'),
    twins: wholeNumber('twins'),
  }
  const machine = machineFacts()
  const started = new Date()
  const result = await runLiveIndex(settings, (step) => console.error(`… ${step}`))
  console.log(formatLiveIndex(result))
  if (values.json !== undefined) {
    const file = resolve(process.env['INIT_CWD'] ?? '.', values.json)
    await mkdir(dirname(file), { recursive: true })
    const all = { format: 1, started, finished: new Date(), machine, settings, result }
    await writeFile(file, `${JSON.stringify(all, null, 2)}\n`)
    console.log(`\nThe result is in ${join(file)}`)
  }
}
