import { expect, test } from 'vitest'
import { serversText } from './servers-text.ts'

test.each([
  [[], ''],
  [['2 MariaDB servers'], '2 MariaDB servers'],
  [['1 MariaDB server'], '1 MariaDB server'],
  // Results of earlier versions have this plural.
  [['1 MariaDB servers'], '1 MariaDB server'],
  [['2 given'], '2 given'],
  [['a PostgreSQL server', '2 SQLite files'], 'a PostgreSQL server and 2 SQLite files'],
  [
    [
      '2 MariaDB servers',
      'a PostgreSQL server',
      '1 MariaDB servers',
      '10 MariaDB servers',
      '2 SQLite files',
      '2 MariaDB servers',
    ],
    '1, 2 and 10 MariaDB servers, a PostgreSQL server and 2 SQLite files',
  ],
])('the servers %j become the text %j', (titles, expected) => {
  expect(serversText(titles)).toBe(expected)
})
