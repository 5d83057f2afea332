/** Base URLs of servers that are there already, from LOOSELEAF_TEST_MYSQL=url,url. */
export const givenServers: readonly string[] = (process.env['LOOSELEAF_TEST_MYSQL'] ?? '')
  .split(',')
  .map((url) => url.trim())
  .filter((url) => url !== '')

/** True when the tests that need MariaDB are to be left out: LOOSELEAF_SKIP_MYSQL=1. */
export const skipsMysql: boolean = process.env['LOOSELEAF_SKIP_MYSQL'] === '1'
