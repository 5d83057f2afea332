/** Base URLs of external servers, from LOOSELEAF_TEST_MYSQL=url,url. */
export const givenServers: readonly string[] = (process.env['LOOSELEAF_TEST_MYSQL'] ?? '')
  .split(',')
  .map((url) => url.trim())
  .filter((url) => url !== '')

/** True if tests that need MariaDB are skipped: LOOSELEAF_SKIP_MYSQL=1. */
export const skipsMysql: boolean = process.env['LOOSELEAF_SKIP_MYSQL'] === '1'
