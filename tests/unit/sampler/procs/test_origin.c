/* SPDX-License-Identifier: Apache-2.0 */
/* What paths of cgroups say, rules of services, and which processes are meant. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroups.h"
#include "services.h"
#include "targets.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_containers(void **state _unused_)
{
	static const struct {
		const char *path, *id, *unit;
	} rows[] = {
		{"/", "", ""},
		{"/docker/" ID, ID, ""},
		{"/system.slice/docker-" ID ".scope", ID, ""},
		{"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", ID, ""},
		{"/machine.slice/libpod-" ID ".scope/container", ID, ""},
		{"/docker/" ID "0", "", ""}, /* 65 digits */
		{"/docker/abc" ID, "", ""},
		{"/system.slice/nginx.service", "", "nginx"},
		{"/system.slice/system-getty.slice/getty@tty1.service", "", "getty"},
		{"/user.slice/user@0.service/app.slice/inner.service/deep", "", "inner"},
		{"/a/.service", "", ""},
		{"/a/@x.service/", "", "@x"},
		{"", "", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *at = NULL;
		size_t len = cgroup_container(rows[i].path, strlen(rows[i].path), &at);

		assert_int_equal(len, strlen(rows[i].id));
		if (len)
			assert_memory_equal(at, rows[i].id, len);
		len = cgroup_unit(rows[i].path, strlen(rows[i].path), &at);
		assert_int_equal(len, strlen(rows[i].unit));
		if (len)
			assert_memory_equal(at, rows[i].unit, len);
	}
}

static void test_table(void **state _unused_)
{
	struct cgroups c = {.scan_ns = UINT64_MAX / 2};
	char path[32];

	cgroups_add(&c, 5, "/a", 2, 1);
	cgroups_add(&c, 5 + 1024, "/same bucket", 12, 1);
	assert_string_equal(cgroups_find(&c, 5, 2)->path, "/a");
	cgroups_add(&c, 5, "/b", 2, 3); /* its id is used again */
	assert_string_equal(cgroups_find(&c, 5, 4)->path, "/b");
	assert_string_equal(cgroups_find(&c, 5 + 1024, 4)->path, "/same bucket");
	/* Ever new ones: what is used stays. */
	for (uint64_t id = 10000; id < 60000; id++) {
		snprintf(path, sizeof(path), "/%llu", (unsigned long long)id);
		cgroups_add(&c, id, path, strlen(path), id);
		assert_non_null(cgroups_find(&c, 5, id));
	}
	assert_true(c.count < 50000);
	cgroups_done(&c);
}

static void write_rules(const char *text)
{
	FILE *f = fopen("rules", "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void test_services(void **state _unused_)
{
	const struct service_subject shop = {.exe = "/opt/shop/bin/server", .unit = "shop-7"};
	const struct service_subject pod = {.exe = "/bin/sh", .cgroup = "/kubepods/x"};
	const struct service_subject none = {.exe = NULL};
	struct services s;
	struct err err;

	assert_int_equal(services_init(&s, NULL, &err), 0);
	assert_string_equal(services_find(&s, &shop), "shop-7");
	assert_null(services_find(&s, &none));
	services_done(&s);
	write_rules("# comment\n\n  exe\t/opt/shop/*  shop # mine\nexe * rest\ncgroup /kubepods/* "
		    "k8s\n");
	assert_int_equal(services_init(&s, "rules", &err), 0);
	assert_string_equal(services_find(&s, &shop), "shop");
	assert_string_equal(services_find(&s, &pod), "rest"); /* the first one wins */
	assert_null(services_find(&s, &none));
	services_done(&s);
	write_rules("exe /a b\nname /a b\n");
	assert_int_equal(services_init(&s, "rules", &err), ERR_USAGE);
	assert_non_null(strstr(err.message, "rules:2"));
	write_rules("exe /a\n");
	assert_int_equal(services_init(&s, "rules", &err), ERR_USAGE);
	write_rules("exe /a b c\n");
	assert_int_equal(services_init(&s, "rules", &err), ERR_USAGE);
	assert_true(services_init(&s, "absent", &err) < 0);
}

static void test_targets(void **state _unused_)
{
	struct targets t;
	struct err err;

	assert_int_equal(targets_init(&t, NULL, NULL, &err), 0);
	assert_true(targets_match(&t, "any", NULL));
	assert_int_equal(targets_init(&t, "^work", "/bin/(a|b)$", &err), 0);
	assert_true(targets_match(&t, "worker", "/usr/bin/a"));
	assert_false(targets_match(&t, "rework", "/usr/bin/a"));
	assert_false(targets_match(&t, "worker", "/usr/bin/ab"));
	assert_false(targets_match(&t, "worker", NULL));
	targets_done(&t);
	assert_int_equal(targets_init(&t, "(", NULL, &err), ERR_USAGE);
	assert_non_null(strstr(err.message, "--comm"));
	assert_int_equal(targets_init(&t, "a", "[", &err), ERR_USAGE);
	assert_non_null(strstr(err.message, "--exe"));
}

static void test_children(void **state _unused_)
{
	uint32_t pids[64] = {(uint32_t)getpid()};
	size_t count, found = 0;
	int fds[2], status;
	pid_t child, grandchild;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		grandchild = fork();
		if (!grandchild) {
			pause();
			_exit(0);
		}
		if (write(fds[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	count = targets_add_children(pids, 1, ARRAY_LEN(pids));
	for (size_t i = 0; i < count; i++)
		found += pids[i] == (uint32_t)child || pids[i] == (uint32_t)grandchild;
	assert_int_equal(targets_add_children(pids, 1, 1), 1);
	kill(grandchild, 9);
	kill(child, 9);
	waitpid(child, &status, 0);
	assert_int_equal(found, 2);
	assert_int_equal(count, 3);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers), cmocka_unit_test(test_table),
		cmocka_unit_test(test_services),   cmocka_unit_test(test_targets),
		cmocka_unit_test(test_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
