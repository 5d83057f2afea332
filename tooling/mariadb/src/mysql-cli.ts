import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dirname, join, resolve } from 'node:path'
import { fetchMysql } from './fetch-mysql.ts'

const HELP = `MySQL for the tests, on a machine that has MariaDB or nothing.

  pnpm mysql fetch [folder]     fetch MySQL's server from Debian unstable (60 MB, 250 MB unpacked)

The folder is .data/mysql by default. Nothing is installed: its program mysqld is for LOOSELEAF_MYSQLD. Works on Debian,
with apt's own mirror, and needs no root.
`

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const [command, folder = join(project, '.data', 'mysql'), ...more] = process.argv
  .slice(2)
  .filter((argument) => argument !== '--')

if (command !== 'fetch' || folder.startsWith('-') || more.length > 0) {
  process.stdout.write(HELP)
  process.exitCode = command === '--help' || command === '-h' ? 0 : 2
} else {
  try {
    const target = resolve(folder)
    if (existsSync(join(target, 'mysqld'))) {
      console.log(`${target} has it already; remove the folder to fetch it anew.`)
    } else {
      await fetchMysql(target, (line) => console.log(line))
    }
    console.log(
      `\nAll tests that need a server, on it:\n  LOOSELEAF_MYSQLD=${join(target, 'mysqld')} pnpm exec vitest run int.test`,
    )
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
