import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from 'looseleaf'
import { describeArticle } from './article-scenario.ts'

describeArticle('two MariaDB shards', async () => mysqlShards((await freshShards(2)).urls))
