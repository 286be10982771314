# Targets of find_package(ctp): ctp::ctp is libctp.a, and ctp::shared is libctp.so.
get_filename_component(ctp_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(ctp_library "ctp;STATIC;libctp.a" "shared;SHARED;libctp.so")
    list(GET ctp_library 0 ctp_name)
    list(GET ctp_library 1 ctp_kind)
    list(GET ctp_library 2 ctp_file)
    if(NOT TARGET ctp::${ctp_name})
        add_library(ctp::${ctp_name} ${ctp_kind} IMPORTED)
        set_target_properties(ctp::${ctp_name} PROPERTIES
            IMPORTED_LOCATION "${ctp_prefix}/lib/${ctp_file}"
            INTERFACE_INCLUDE_DIRECTORIES "${ctp_prefix}/include")
    endif()
endforeach()
