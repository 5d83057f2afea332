import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dirname, join, resolve } from 'node:path'
import { fetchMysql } from './fetch-mysql.ts'

const HELP = `Fetches MySQL for the tests, on a machine that has only MariaDB or no server.

  pnpm mysql fetch [folder]     fetch MySQL's server from Debian unstable (60 MB, 250 MB unpacked)

The default folder is .data/mysql. Nothing is installed; set LOOSELEAF_MYSQLD to the program mysqld in the folder. Works on
Debian, with apt's own mirror, and needs no root.
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
      console.log(`${target} already has MySQL. Remove the folder to fetch it again.`)
    } else {
      await fetchMysql(target, (line) => console.log(line))
    }
    console.log(
      `\nTo run all tests that need a server on it:\n  LOOSELEAF_MYSQLD=${join(target, 'mysqld')} pnpm exec vitest run int.test`,
    )
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
